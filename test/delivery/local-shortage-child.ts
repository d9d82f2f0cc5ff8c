import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { LocalShortageError } from '../../src/delivery/local-shortage.ts';
import { createSender, type SenderOptions } from '../../src/delivery/sender.ts';

/** Opens files until none is left, sends over each kind of route, frees the files, and sends again. Prints the results. */

const [port = '0'] = process.argv.slice(2);

function newSender(options: Partial<SenderOptions> = {}) {
  return createSender({ timeoutMs: 5_000, allowInsecureTargets: true, userAgent: 'Paybell/test', ...options });
}

const proxy = { host: 'localhost', port: Number(port), authorization: null };
const ROUTES = {
  address: [newSender(), `http://127.0.0.1:${port}/`],
  tls: [newSender(), `https://127.0.0.1:${port}/`],
  name: [newSender(), `http://localhost:${port}/`],
  proxy: [newSender({ proxy }), `http://127.0.0.1:${port}/`],
} as const;

async function sendAll(): Promise<Record<string, string>> {
  const results: Record<string, string> = {};
  for (const [name, [sender, postUrl]] of Object.entries(ROUTES)) {
    try {
      const outcome = await sender.send({ entityId: 'ent_1', postUrl, headers: {}, body: '{}' });
      results[name] = outcome.kind === 'error' ? outcome.error : String(outcome.statusCode);
    } catch (error) {
      results[name] = error instanceof LocalShortageError ? `${error.resource} ${error.code}` : String(error);
    }
  }
  return results;
}

function fillFiles(): number[] {
  const files: number[] = [];
  try {
    for (;;) files.push(openSync(devNull, 'r'));
  } catch {
    return files;
  }
}

const files = fillFiles();
const without = await sendAll();
for (const file of files) closeSync(file);
const after = await sendAll();
process.stdout.write(JSON.stringify({ without, after }));
process.exit(0);
