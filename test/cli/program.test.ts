import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeSecret, sign } from '../../src/domain/signing.ts';
import { version } from '../../src/version.ts';
import { commandLine } from '../support/command-line.ts';
import { runPaybell, startPaybell, tempFolder } from '../support/paybell.ts';
import { PROGRAM } from '../support/program.ts';

/** The program as a process. All other tests of commands run them in their own process. */

const folder = tempFolder();
afterAll(() => folder.remove());

describe('the program', () => {
  test.each([
    [['--version'], { exitCode: 0, stdout: `${version}\n`, stderr: '' }],
    [['nonsense'], { exitCode: 2, stdout: '', stderr: expect.stringContaining("unknown command 'nonsense'") }],
    [['logout'], { exitCode: 1, stdout: '', stderr: 'error: there is no profile default\n' }],
  ])('ends %j with its exit code, and writes to the right output', async (args, outcome) => {
    expect(await runPaybell(args, folder.path)).toEqual(outcome);
  });

  test('writes all of a long output to a pipe before it ends', async () => {
    const { stdout } = await commandLine({})(['completion', 'bash']);
    expect(stdout.length).toBeGreaterThan(20_000);
    expect(await runPaybell(['completion', 'bash'], folder.path)).toEqual({ exitCode: 0, stdout, stderr: '' });
  });

  test('reads standard input from a pipe', async () => {
    const secret = makeSecret(Buffer.alloc(32, 5));
    const timestampS = Math.floor(Date.now() / 1000);
    const body = '{"event":"LatePayment","networkId":1}';
    const signature = sign({ id: 'dlv_1', timestampS, body, secrets: [secret] });
    const headers = { 'webhook-id': 'dlv_1', 'webhook-timestamp': timestampS, 'webhook-signature': signature };
    const options = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
    const child = Bun.spawn([...PROGRAM, 'verify', '-', '--json', ...options], {
      cwd: folder.path,
      env: { PATH: process.env.PATH ?? '', HOME: folder.path, PAYBELL_SECRET: secret },
      stdin: Buffer.from(body),
      stdout: 'pipe',
    });
    expect(await child.stdout.json()).toMatchObject({ verified: true, deliveryId: 'dlv_1' });
    expect(await child.exited).toBe(0);
  });

  test('reads a file .env of its working folder, and finds relative paths there', async () => {
    writeFileSync(join(folder.path, '.env'), 'DATABASE_URL=sqlite:./own/store.db\n');
    expect(await runPaybell(['migrate'], folder.path)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(existsSync(join(folder.path, 'own/store.db'))).toBe(true);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('ends a command that runs on with 0 after %s', async (signal) => {
    const child = startPaybell(['listen', '--port', '0'], folder.path);
    let stdout = '';
    for await (const chunk of child.stdout as ReadableStream<Uint8Array>) {
      stdout += new TextDecoder().decode(chunk);
      if (stdout.includes('Signatures are not checked')) child.kill(signal);
    }
    expect(await child.exited).toBe(0);
    expect(stdout).toEndWith('0 requests, 0 verified.\n');
  });
});
