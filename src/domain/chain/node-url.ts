/**
 * The URL of a node in a setting. Its fragment may be a header for every request, as in
 * `https://node.example.com#Api-Key=secret`, because some providers accept their key only in a header.
 */

export type NodeTarget = {
  readonly url: URL;
  readonly header: { readonly name: string; readonly value: string } | null;
};

const HEADER = /^#([A-Za-z0-9!$%&'*+.^_`|~-]{1,128})=([\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?)$/;
/** Headers that belong to the connection or to JSON-RPC. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  ...['accept', 'connection', 'content-encoding', 'content-length', 'content-type', 'expect', 'host', 'keep-alive'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

/** Null for a text that is not a URL of a node. Paybell never shows the text, because it may contain a key. */
export function parseNodeUrl(text: string): NodeTarget | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return null;
  if (url.hash === '') return { url, header: null };
  const [, name = '', value = ''] = HEADER.exec(decoded(url.hash)) ?? [];
  if (name === '' || FORBIDDEN.has(name.toLowerCase())) return null;
  url.hash = '';
  return { url, header: { name, value } };
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return '';
  }
}
