import { expect, test } from 'bun:test';
import { readEventStream } from '../../src/client/listen/event-stream.ts';

async function read(text: string): Promise<{ event: string; data: string }[]> {
  const events = [];
  for await (const event of readEventStream(new Response(text), new AbortController())) events.push(event);
  return events;
}

test('server-sent events are read by their lines, which only CR and LF end', async () => {
  const data = JSON.stringify({ note: 'one\u2028two\u2029three' });
  expect(await read(`: comment\nevent: request\ndata: ${data}\n\ndata:a\r\ndata: b\r\n\r\nevent: none\n\n`)).toEqual([
    { event: 'request', data },
    { event: 'message', data: 'a\nb' },
  ]);
});
