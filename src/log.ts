import pino, { type DestinationStream, type Logger } from 'pino';

export type { Logger };

/** A second line of defence: no code should log these, and if it does, the values are masked. */
const REDACTED = ['apiKey', 'secret', 'headers["api-key"]', '*.apiKey', '*.secret', '*.headers["api-key"]'];

const STANDARD_OUTPUT = { fd: 1, sync: true };

/** Writes JSON lines to standard output, unless another destination is given. */
export function createLogger(
  level: string,
  destination: DestinationStream = pino.destination(STANDARD_OUTPUT),
): Logger {
  return pino({ level, base: null, redact: { paths: REDACTED, censor: '(hidden)' } }, destination);
}

/**
 * Writes lines for people to a terminal, one for each message, so that a failed request does not push a screen away. Loaded only
 * there: a service whose output is collected starts sooner without.
 */
export async function readableLines({ colour }: { colour: boolean }): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty');
  return pretty({
    colorize: colour,
    sync: true,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
  });
}
