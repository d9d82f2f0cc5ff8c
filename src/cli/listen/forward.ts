const MAX_RESPONSE_BYTES = 1024 * 1024;
const TIMEOUT_MS = 60_000;

/** Headers that belong to one connection, or that `fetch` sets for the next one. */
const CONNECTION_HEADERS = [
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

export type ForwardResult = { status: number; headers: Headers; body: Uint8Array<ArrayBuffer> } | { error: string };

/** Forwards a request with the same bytes and headers. Returns the response, or why there was none. */
export async function forwardRequest(
  target: string,
  headers: Headers,
  body: Uint8Array<ArrayBuffer>,
): Promise<ForwardResult> {
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: withoutConnectionHeaders(headers),
      body,
      redirect: 'manual',
      decompress: false,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const responseBody = await readUpToLimit(response);
    if (responseBody === null) return { error: `the response has more than ${MAX_RESPONSE_BYTES} bytes` };
    return { status: response.status, headers: withoutConnectionHeaders(response.headers), body: responseBody };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function withoutConnectionHeaders(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of CONNECTION_HEADERS) kept.delete(name);
  return kept;
}

/** The body, or null if it exceeds the limit. */
async function readUpToLimit(response: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) return null;
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}
