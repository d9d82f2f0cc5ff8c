import type { Attempt } from '../../../../../client/deliveries.ts';
import { MASKED } from '../../../../../domain/endpoints/shown-headers.ts';

/** curl writes these itself. */
const OF_CURL = ['host', 'content-length'];

type Sent = Pick<Attempt, 'postUrl' | 'requestHeaders'>;

/** The request of an attempt as a command. Masked values are variables of the shell, named after their headers. */
export function curlOfAttempt({ postUrl, requestHeaders }: Sent, body: string): string {
  const headers = requestHeaders
    .filter(({ name }) => !OF_CURL.includes(name))
    .map(({ name, value }) =>
      value === MASKED ? `-H "${name}: ${variableOf(name)}"` : `-H ${quoted(`${name}: ${value}`)}`,
    );
  return [`curl -i ${quoted(postUrl)}`, ...headers, `--data-raw ${quoted(body)}`].join(' \\\n  ');
}

/** The variables that someone has to set before running the command. */
export function maskedVariables({ requestHeaders }: Sent): string[] {
  return requestHeaders.filter(({ value }) => value === MASKED).map(({ name }) => variableOf(name));
}

function variableOf(header: string): string {
  return `$${header.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
