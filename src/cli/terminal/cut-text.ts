/** Cuts a cell of a table to a width, and keeps the part that people look for. */

const ELLIPSIS = '…';
const URL_PARTS = /^[a-z]+:\/\/([^/?#]+)(.*)$/i;
/** The shortest part of a host by which people recognise it. */
const LEAST_OF_HOST = 4;

/** An id keeps both ends, and a URL its path. Other texts keep their beginning. */
export function cutText(heading: string, text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  if (isId(heading)) return cutMiddle(text, width);
  const [, host, path] = URL_PARTS.exec(text) ?? [];
  return host === undefined || path === undefined ? cutEnd(text, width) : cutUrl(host, path, width);
}

export function isId(heading: string): boolean {
  return heading.endsWith('-id');
}

function cutUrl(host: string, path: string, width: number): string {
  if (host.length + path.length <= width) return host + path;
  const ofHost = width - path.length - ELLIPSIS.length;
  if (ofHost >= LEAST_OF_HOST) return host.slice(0, ofHost) + ELLIPSIS + path;
  return ELLIPSIS + path.slice(ELLIPSIS.length - width);
}

function cutMiddle(text: string, width: number): string {
  const atEnd = Math.floor((width - ELLIPSIS.length) / 2);
  return text.slice(0, width - ELLIPSIS.length - atEnd) + ELLIPSIS + text.slice(text.length - atEnd);
}

function cutEnd(text: string, width: number): string {
  let cut = '';
  for (const character of text) {
    if (Bun.stringWidth(cut + character) >= width) break;
    cut += character;
  }
  return `${cut}${ELLIPSIS}`;
}
