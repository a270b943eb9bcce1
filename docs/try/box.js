// A box of the "Try it" page for a file or the list of URLs. It holds text, or bytes instead.

import { $, count } from "./answers.js";

// Browsers freeze with more text in a textarea, for example 16 seconds with 512,000 line ends.
const MOST_TEXT = 65536; // bytes
const MOST_LINES = 2500;
const MOST_FILE = 2 ** 21; // bytes; Google reads 500 KiB of a robots.txt

/** A textarea that also takes a file. It calls `changed` after each change. */
export class Box {
  constructor(name, changed) {
    this.area = $(name);
    this.changed = changed;
    this.held = null; // Bytes that a textarea would change, or too many for it.
    [this.file, this.note, this.empty] = this.area.nextElementSibling.children;
    const place = this.area.parentElement;
    place.ondragover = (event) => event.preventDefault();
    place.ondrop = (event) => this.insert(event, event.dataTransfer);
    this.area.onpaste = (event) => this.insert(event, event.clipboardData);
    this.area.oninput = changed;
    this.file.onchange = () => this.read(this.file.files[0]);
    this.empty.onclick = () => this.put(new Uint8Array());
  }

  get bytes() {
    return this.held || new TextEncoder().encode(this.area.value);
  }

  /** Take a paste or a drop. Leave a short text to the browser. */
  insert(event, data) {
    const text = data.getData("text");
    if (!data.files.length && text.length <= MOST_LINES) return;
    event.preventDefault();
    const { value, selectionStart, selectionEnd } = this.area;
    const whole = value.slice(0, selectionStart) + text + value.slice(selectionEnd);
    if (data.files.length) this.read(data.files[0]);
    else this.put(new TextEncoder().encode(whole), "the text");
  }

  async read(file) {
    if (file) this.put(new Uint8Array(await file.slice(0, MOST_FILE).arrayBuffer()), file.name);
  }

  /** Show bytes as text if the text is short and has the same bytes. Else keep them. */
  put(bytes, name = "the file") {
    const lines = bytes.reduce((sum, byte) => sum + (byte === 10), 0);
    const isShort = bytes.length <= MOST_TEXT && lines <= MOST_LINES;
    const text = isShort ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes) : "";
    this.area.value = text;
    const isSame = isShort && this.area.value === text && !/[\0\ufeff\ufffd]/.test(text);
    if (!isSame) this.area.value = "";
    this.held = isSame ? null : bytes;
    this.area.disabled = !isSame;
    this.empty.hidden = isSame;
    this.note.textContent = isSame ? "" : `${name}: ${count(bytes.length, "byte")}, kept unchanged`;
    this.file.value = "";
    this.changed();
  }
}
