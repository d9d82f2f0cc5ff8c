import { readFileSync } from 'node:fs';

/** The three ways to give the key that encrypts the stored secrets. */

export const SECRET_KEY_RULE = 'must be base64 of exactly 32 random bytes: openssl rand -base64 32';

export function parseSecretKey(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === 32 && bytes.toString('base64') === text ? new Uint8Array(bytes) : null;
}

const FILE_RULE =
  'must be the path of a readable file that contains base64 of exactly 32 bytes: openssl rand -base64 32';

/** Returns what is wrong as a text, which never repeats what the file contains. */
export function readSecretKeyFile(file: string): Uint8Array | string {
  try {
    return parseSecretKey(readFileSync(file, 'utf8').trim()) ?? FILE_RULE;
  } catch {
    return FILE_RULE;
  }
}

const COMMAND_TIMEOUT_MS = 10_000;
const MAX_OUTPUT_BYTES = 4_096;

/**
 * Runs a command that prints the key, such as one that asks a key management service for it. The process waits for it: it
 * cannot do anything without the key. Returns what is wrong as a text, which never repeats what the command printed.
 */
export function runSecretKeyCommand(command: string, timeoutMs = COMMAND_TIMEOUT_MS): Uint8Array | string {
  const { stdout, exitCode, exitedDueToTimeout, exitedDueToMaxBuffer } = Bun.spawnSync({
    cmd: ['/bin/sh', '-c', command],
    stdin: 'ignore',
    // Errors are for the person who starts the service.
    stderr: 'inherit',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  if (exitedDueToTimeout) return `must be a command that ends within ${timeoutMs / 1000} s`;
  if (exitedDueToMaxBuffer) return `must be a command that prints at most ${MAX_OUTPUT_BYTES} bytes`;
  if (exitCode !== 0) return `must be a command that succeeds; this one ended with ${exitCode ?? 'a signal'}`;
  const text = stdout.toString().trim();
  if (text === '') return 'must be a command that prints the key; this one printed nothing';
  return parseSecretKey(text) ?? 'must be a command that prints base64 of exactly 32 bytes, and nothing else';
}
