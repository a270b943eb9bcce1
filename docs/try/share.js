// Turns the whole case of the "Try it" page, byte for byte, into a link, a command or a report.
//
// A link has the case behind its "#". Browsers send that part to no server. It is "#1.", then
// base64url of deflated bytes. Inflated, they are a line of JSON and the contents of the boxes.

const MARK = "#1.";
const MOST_LINK = 30000; // characters; few programs accept a longer address
const MOST_CASE = 2 ** 21; // bytes; a hostile link of that length may unpack to 25 MB
const MOST_COMMAND = 20000; // bytes of a robots.txt that a command contains
const MOST_REPORT = 20; // verdicts in a report

/** Pass bytes through a stream that packs or unpacks them. Throw if more than `most` come out. */
async function through(stream, blob, most) {
  const bytes = await new Response(blob.stream().pipeThrough(stream)).arrayBuffer();
  if (bytes.byteLength > most) throw new Error("it is too large");
  return new Uint8Array(bytes);
}

/** Return the address of this page with the case behind "#". Throw if the case is too large. */
export async function linkOf({ parts, crawlers }) {
  const head = JSON.stringify({ sizes: parts.map((bytes) => bytes.length), crawlers });
  const blob = new Blob([`${head}\n`, ...parts]);
  const packed = await through(new CompressionStream("deflate-raw"), blob, (MOST_LINK * 3) / 4);
  const code = btoa(String.fromCharCode(...packed)).replaceAll("+", "-").replaceAll("/", "_");
  return location.href.split("#")[0] + MARK + code.replace(/=+$/, "");
}

/** Return the case in the fragment of an address, or null. Throw if the case is damaged. */
export async function caseIn(hash) {
  if (!hash.startsWith(MARK)) return null;
  const code = hash.slice(MARK.length, MARK.length + MOST_LINK + 1);
  if (code.length > MOST_LINK) throw new Error("it is too large");
  const packed = atob(code.replaceAll("-", "+").replaceAll("_", "/"));
  const blob = new Blob([Uint8Array.from(packed, (char) => char.charCodeAt())]);
  const bytes = await through(new DecompressionStream("deflate-raw"), blob, MOST_CASE);
  const end = bytes.indexOf(10);
  const { sizes, crawlers } = JSON.parse(new TextDecoder().decode(bytes.slice(0, end)));
  let at = end + 1;
  const parts = sizes.map((size) => bytes.slice(at, (at += size)));
  if (parts.length !== 3 || at !== bytes.length) throw new Error("a part is missing");
  return { parts, crawlers: String(crawlers) };
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Return the format, without quotes, with which printf writes the bytes. */
function format(bytes) {
  const escapes = { "\n": "\\n", "\\": "\\\\", "%": "%%" };
  const chars = Array.from(bytes, (byte, at) => {
    const char = String.fromCharCode(byte);
    const isPlain = byte > 31 && byte < 127 && (at > 0 || char !== "-");
    return escapes[char] || (isPlain ? char : `\\${byte.toString(8).padStart(3, "0")}`);
  });
  return chars.join("");
}

/** Return the case as a command for a POSIX shell, for the URLs and names that were answered. */
export function commandOf({ parts: [robots] }, { urls, names }) {
  const words = [...(urls.length ? urls : ["/"]), ...names.flatMap((name) => ["--as", name])];
  const check = `gbot-robots check ${words.map(quoted).join(" ")} --robots`;
  if (robots.length > MOST_COMMAND) return `${check} robots.txt # save it under that name first`;
  return `printf ${quoted(format(robots))} | ${check} -`;
}

/** Return the case as a report in Markdown. */
export function reportOf(command, link, { rows, crawlers, version }) {
  const line = ([url, number, , , words]) => `${url} as ${crawlers[number]}: ${words}`;
  const verdicts = rows.slice(0, MOST_REPORT).map(line);
  const blocks = [verdicts.join("\n"), command].map((text) => `~~~~text\n${text}\n~~~~\n\n`);
  const seen = `scrapy-gbot-robots ${version}:\n\n${blocks.join("")}${link}`;
  return `What I expected, and why:\n\n\n${seen}\n`;
}
