import { expect, test } from 'bun:test';
import { curlOfAttempt, maskedVariables } from '../../src/dashboard/views/deliveries/panel/attempt/curl.ts';

const attempt = {
  postUrl: "https://example.com/it's?a=1&b=$HOME",
  requestHeaders: [
    { name: 'host', value: 'example.com' },
    { name: 'content-type', value: 'application/json' },
    { name: 'webhook-id', value: 'dlv_1' },
    { name: 'webhook-signature', value: '***' },
    { name: 'content-length', value: '17' },
  ],
};

test('the command of an attempt has its URL, headers and body, and variables for what is masked', async () => {
  const command = curlOfAttempt(attempt, `{"note":"it's $HOME"}`);
  expect(command).toBe(
    [
      String.raw`curl -i 'https://example.com/it'\''s?a=1&b=$HOME' \ `.trimEnd(),
      String.raw`  -H 'content-type: application/json' \ `.trimEnd(),
      String.raw`  -H 'webhook-id: dlv_1' \ `.trimEnd(),
      String.raw`  -H "webhook-signature: $WEBHOOK_SIGNATURE" \ `.trimEnd(),
      String.raw`  --data-raw '{"note":"it'\''s $HOME"}'`,
    ].join('\n'),
  );
  expect(maskedVariables(attempt)).toEqual(['$WEBHOOK_SIGNATURE']);
});

test('a shell reads the command as the arguments that were meant', async () => {
  const command = curlOfAttempt(attempt, `{"note":"it's $HOME"}`).replace(/^curl/, "printf '%s\\n'");
  const shell = Bun.spawn(['sh', '-c', command], { env: { WEBHOOK_SIGNATURE: 'v1,abc' } });
  expect((await new Response(shell.stdout).text()).trimEnd().split('\n')).toEqual([
    ...['-i', "https://example.com/it's?a=1&b=$HOME"],
    ...['-H', 'content-type: application/json', '-H', 'webhook-id: dlv_1', '-H', 'webhook-signature: v1,abc'],
    ...['--data-raw', `{"note":"it's $HOME"}`],
  ]);
});
