"""Pages drawn for the tests of readers: black bars where lines would be, and two lines to read."""

from PIL import Image, ImageDraw, ImageFont
from PIL.Image import Transform

FONT = ImageFont.load_default(36)
FERRY = {(30, 40): "The ferry arrived late", (30, 88): "because of the fog 212"}


def ruled(width: int = 1_000) -> Image.Image:
    """A page of black bars where lines of text would be."""
    page = Image.new("L", (width, 800), 255)
    for top in range(60, 740, 40):
        for left in range(60, width - 90, 70):
            page.paste(0, (left, top, left + 55, top + 16))
    return page


def bent(page: Image.Image) -> Image.Image:
    """A page whose lines sink by 24 pixels towards its middle."""
    columns = []
    for left in range(0, page.width, 8):
        sunk = 24 * (1 - (2 * left / page.width - 1) ** 2)
        target = (left, 0, left + 8, page.height)
        high, low = -sunk, page.height - sunk
        columns.append((target, (left, high, left, low, left + 8, low, left + 8, high)))
    return page.transform(page.size, Transform.MESH, columns, fillcolor=255)


def of_the_ferry() -> Image.Image:
    picture = Image.new("L", (700, 200), 255)
    for place, line in FERRY.items():
        ImageDraw.Draw(picture).text(place, line, fill=0, font=FONT)
    return picture
