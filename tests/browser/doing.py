"""What people do on the page, as functions: drop, paste, search, look."""

DROP = """async (files) => {
  const transfer = new DataTransfer();
  for (const [name, bytes] of files) transfer.items.add(new File([new Uint8Array(bytes)], name));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    document.body.dispatchEvent(
      new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true })
    );
  }
}"""
PASTE = """([text, image]) => {
  const transfer = new DataTransfer();
  if (text) transfer.setData("text/plain", text);
  const bytes = new Uint8Array(image ?? []);
  if (image) transfer.items.add(new File([bytes], "image.png", {type: "image/png"}));
  document.body.dispatchEvent(
    new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true })
  );
}"""


def drop(page, *files):
    page.evaluate(DROP, [[name, list(content)] for name, content in files])


def search(page, words):
    page.get_by_role("searchbox").fill(words)


def inked(page):
    """How dark the picture of a page is below what is marked on it, of 255: letters are."""
    return page.evaluate("""() => {
      const image = document.querySelector(".sheet img");
      const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
      const ink = canvas.getContext("2d");
      ink.drawImage(image, 0, 0);
      const sheet = image.getBoundingClientRect();
      return [...document.querySelectorAll(".box")].map((each) => {
        const box = each.getBoundingClientRect();
        const scale = image.naturalWidth / sheet.width;
        const part = ink.getImageData((box.x - sheet.x) * scale, (box.y - sheet.y) * scale,
          Math.max(box.width * scale, 1), Math.max(box.height * scale, 1)).data;
        let dark = 255;
        for (let at = 0; at < part.length; at += 4) dark = Math.min(dark, part[at]);
        return dark;
      });
    }""")


def dragged(page, *paths):
    """Files and folders dropped as by the system: by their paths, not by a script."""
    session = page.context.new_cdp_session(page)
    data = {"items": [], "files": list(map(str, paths)), "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})
