import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';

export type { Logger };

/** Belt and braces: nothing below should log these at all, and if it does they are not in the line. */
const REDACTED = ['apiKey', 'secret', 'headers["api-key"]', '*.apiKey', '*.secret', '*.headers["api-key"]'];

/** JSON lines for machines, readable lines on a terminal; always on standard output. */
export function createLogger(level: string): Logger {
  const options = { level, base: null, redact: { paths: REDACTED, censor: '(hidden)' } };
  if (!process.stdout.isTTY) return pino(options, pino.destination({ fd: 1, sync: true }));
  return pino(options, pretty({ colorize: true, sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }));
}
