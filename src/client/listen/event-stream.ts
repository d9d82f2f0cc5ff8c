import { ConnectionError } from '../errors.ts';

/** Server-sent events, as https://html.spec.whatwg.org/multipage/server-sent-events.html defines them. */
export type ServerSentEvent = { readonly event: string; readonly data: string };

/** The service sends a comment every 15 s: a connection without a byte for three of them is lost. */
const SILENCE_MS = 45_000;

/** Ends with the response; throws when the connection is lost, or silent for too long. */
export async function* readEventStream(
  response: Response,
  connection: AbortController,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const decoder = new TextDecoder();
  const parser = new EventParser();
  for (;;) {
    const silence = setTimeout(() => connection.abort(), SILENCE_MS);
    let chunk: Awaited<ReturnType<typeof reader.read>>;
    try {
      chunk = await reader.read();
    } catch (error) {
      throw new ConnectionError('the stream of events was cut', { cause: error });
    } finally {
      clearTimeout(silence);
    }
    if (chunk.done) return;
    yield* parser.add(decoder.decode(chunk.value, { stream: true }));
  }
}

/** Events end with an empty line. Other lines, such as comments, are skipped. */
class EventParser {
  #rest = '';
  #event = 'message';
  #data: string[] = [];

  *add(text: string): Generator<ServerSentEvent, void, undefined> {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const field = line.endsWith('\r') ? line.slice(0, -1) : line;
      if (field === '') yield* this.#dispatch();
      else this.#read(field);
    }
  }

  #read(field: string): void {
    // With `s`, since a dot takes U+2028 and U+2029 for the end of a line, and the format does not.
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(field) ?? [];
    if (name === 'event') this.#event = value;
    else if (name === 'data') this.#data.push(value);
  }

  *#dispatch(): Generator<ServerSentEvent, void, undefined> {
    if (this.#data.length > 0) yield { event: this.#event, data: this.#data.join('\n') };
    this.#event = 'message';
    this.#data = [];
  }
}
