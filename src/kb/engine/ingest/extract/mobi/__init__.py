"""Books of Kindle readers (mobi, azw3) and of Palm organisers before them."""
