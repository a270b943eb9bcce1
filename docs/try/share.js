// The case of the "Try it" page, whole, bytes included: as a link, a command, a report.
//
// A link has it behind its "#", which browsers send to no server: "#1.", then base64url of deflated
// bytes. They are a line of JSON and the contents of the boxes.

const MARK = "#1.";
const MOST_LINK = 30000; // characters; few programs pass on a longer address
const MOST_CASE = 2 ** 21; // bytes; a link may be a bomb, but none of its length unpacks to 25 MB
const MOST_COMMAND = 20000; // bytes of a robots.txt within a command
const MOST_REPORT = 20; // verdicts

/** Pass bytes through a stream that packs or unpacks them. Throw if more than `most` come out. */
async function through(stream, blob, most) {
  const bytes = await new Response(blob.stream().pipeThrough(stream)).arrayBuffer();
  if (bytes.byteLength > most) throw new Error("it is too large");
  return new Uint8Array(bytes);
}

/** Return the address of this page with the case in it. Throw if it is too large. */
export async function linkOf({ parts, crawlers }) {
  const head = JSON.stringify({ sizes: parts.map((bytes) => bytes.length), crawlers });
  const blob = new Blob([`${head}\n`, ...parts]);
  const packed = await through(new CompressionStream("deflate-raw"), blob, (MOST_LINK * 3) / 4);
  const code = btoa(String.fromCharCode(...packed)).replaceAll("+", "-").replaceAll("/", "_");
  return location.href.split("#")[0] + MARK + code.replace(/=+$/, "");
}

/** Return the case in the fragment of an address, null if there is none. Throw if it is damaged. */
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

/** Return bytes as the format of printf, without quotes. */
function format(bytes) {
  const escapes = { "\n": "\\n", "\\": "\\\\", "%": "%%" };
  const chars = Array.from(bytes, (byte, at) => {
    const char = String.fromCharCode(byte);
    const isPlain = byte > 31 && byte < 127 && (at > 0 || char !== "-");
    return escapes[char] || (isPlain ? char : `\\${byte.toString(8).padStart(3, "0")}`);
  });
  return chars.join("");
}

/** Return the case as a command for a POSIX shell. `names` are those of the crawlers that count. */
export function commandOf({ parts: [robots, , urls] }, names) {
  const lines = new TextDecoder().decode(urls).split(/[\r\n]+/).map((line) => line.trim());
  const asked = lines.filter((line) => line.startsWith("/") || line.includes("://"));
  const words = [...(asked.length ? asked : ["/"]), ...names.flatMap((name) => ["--as", name])];
  const check = `gbot-robots check ${words.map(quoted).join(" ")} --robots`;
  if (robots.length > MOST_COMMAND) return `${check} robots.txt # under which name you save it`;
  return `printf ${quoted(format(robots))} | ${check} -`;
}

/** Return the case as a report in Markdown. */
export function reportOf(command, link, { rows, crawlers, version }) {
  const told = ([url, crawler, , , words]) => `${url} as ${crawlers[crawler]}: ${words}`;
  const verdicts = rows.slice(0, MOST_REPORT).map(told);
  const blocks = [verdicts.join("\n"), command].map((text) => `~~~~text\n${text}\n~~~~\n\n`);
  const said = `scrapy-gbot-robots ${version}:\n\n${blocks.join("")}${link}`;
  return `What I expected, and why:\n\n\n${said}\n`;
}
