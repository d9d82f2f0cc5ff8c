import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';

export type { Logger };

/** A second line of defence: no code should log these, and if it does, the values are masked. */
const REDACTED = ['apiKey', 'secret', 'headers["api-key"]', '*.apiKey', '*.secret', '*.headers["api-key"]'];

/** Writes to standard output: JSON lines, or readable lines on a terminal. */
export function createLogger(level: string, { colour = true }: { colour?: boolean } = {}): Logger {
  const options = { level, base: null, redact: { paths: REDACTED, censor: '(hidden)' } };
  if (!process.stdout.isTTY) return pino(options, pino.destination({ fd: 1, sync: true }));
  return pino(options, pretty({ colorize: colour, sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }));
}
