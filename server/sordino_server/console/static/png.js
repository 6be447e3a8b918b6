// Beside each link to a picture as SVG: a button that draws it in this browser and saves it as PNG, twice as fine.
for (const link of document.querySelectorAll('a[download][href*=".svg"]')) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "As PNG" });
  button.addEventListener("click", async () => {
    const image = new Image(), canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
    image.src = link.href;
    try { await image.decode(); } catch { button.textContent = "The picture could not be read"; return; }
    canvas.width = 2 * image.naturalWidth; canvas.height = 2 * image.naturalHeight;
    // The picture has no ground of its own.
    pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--paper");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => {
      const saved = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: `${new URL(link.href).pathname.split("/").pop().replace(".svg", "")}.png` });
      saved.click();
      setTimeout(() => URL.revokeObjectURL(saved.href), 10000);
    });
  });
  link.after(" ", button);
}
