import { networkName } from '../../domain/networks.ts';
import { terminal } from './terminal.ts';

/** Tables for people, JSON for programs, errors on standard error. */

const COLOUR = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

type Stream = { readonly isTTY?: boolean };

/** Whether the stream takes control sequences: it is a terminal, and not a dumb one. */
export function isFullTerminal(stream: Stream): boolean {
  return stream.isTTY === true && terminal().env.TERM !== 'dumb';
}

export function showsColour(stream: Stream): boolean {
  return isFullTerminal(stream) && !terminal().env.NO_COLOR;
}

export function paint(text: string, colour: keyof typeof COLOUR, stream: Stream = terminal().stdout): string {
  return showsColour(stream) ? `\x1b[${COLOUR[colour]}m${text}\x1b[0m` : text;
}

export function printLine(text = ''): void {
  terminal().stdout.write(`${text}\n`);
}

export function printOnStderr(text: string): void {
  terminal().stderr.write(`${text}\n`);
}

/** Prints an error in the form of Commander's own errors. */
export function printError(text: string): void {
  printOnStderr(`${paint('error:', 'red', terminal().stderr)} ${text}`);
}

export function printWarning(text: string): void {
  printOnStderr(`${paint('warning:', 'yellow', terminal().stderr)} ${text}`);
}

/** Prints a note for people to standard error, so that programs read only the result. */
export function printNote(text: string): void {
  printOnStderr(paint(text, 'dim', terminal().stderr));
}

/** Removes control sequences, which foreign text may contain and which must not reach the terminal. */
export function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '�');
}

export function showText(text: string | null | undefined): string {
  return printable(text ?? '–');
}

export function showNetwork(networkId: number): string {
  return `${networkId} ${networkName(networkId)}`;
}

export function showBlock(blockNumber: number | null): string {
  return blockNumber === null ? '–' : String(blockNumber);
}

export function printJson(value: unknown): void {
  printLine(JSON.stringify(value));
}

export function showDate(dateS: number | null): string {
  return dateS === null ? '–' : new Date(dateS * 1000).toISOString().replace('.000Z', 'Z');
}

/** A short date for narrow tables: to the minute, and only the time if the day is today in UTC. */
export function showShortDate(dateS: number): string {
  const [day, time] = new Date(dateS * 1000).toISOString().split('T');
  const minute = `${time?.slice(0, 5)}Z`;
  return day === new Date().toISOString().slice(0, 10) ? minute : `${day} ${minute}`;
}

/** The time of day in the time zone of this machine. */
export function showTime(timeMs: number): string {
  return new Date(timeMs).toTimeString().slice(0, 8);
}
