import { closeSync, openSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { devNull, networkInterfaces } from 'node:os';
import { codeOf } from './error-code.ts';

export type LocalResource = 'files' | 'ports' | 'memory';

/**
 * Thrown if this machine has no room for another connection. Nothing was sent, and the receiver is not the cause: the attempt
 * does not count.
 */
export class LocalShortageError extends Error {
  override readonly name = 'LocalShortageError';

  constructor(
    readonly resource: LocalResource,
    readonly code: string,
  ) {
    super(`no free ${resource} (${code})`);
  }
}

const RESOURCE_OF_CODE = new Map<string, LocalResource>([
  ['EMFILE', 'files'],
  ['ENFILE', 'files'],
  ['ENOMEM', 'memory'],
  ['ENOBUFS', 'memory'],
]);

/** Returns the shortage that kept a connection to this host from being made; null if another failure did. */
export function shortageIn(thrown: unknown, host: string): LocalShortageError | null {
  const code = codeOf(thrown);
  const named = namedShortage(code);
  if (named !== null) return named;
  // If this machine has no IPv6 address, every connection to an IPv6 address ends with this code.
  if (code === 'EADDRNOTAVAIL' && (isIPv4(host) || hasIpv6())) return new LocalShortageError('ports', code);
  return code === 'ECONNREFUSED' ? fileShortage() : null;
}

/**
 * Returns the shortage if no file can be opened. Bun reports a socket that it cannot create as refused, and a name that it cannot
 * look up as not found. It reports both before any file can be closed, so that the next open fails as well.
 */
export function fileShortage(): LocalShortageError | null {
  try {
    closeSync(openSync(devNull, 'r'));
    return null;
  } catch (error) {
    return namedShortage(codeOf(error));
  }
}

function namedShortage(code: string | null): LocalShortageError | null {
  const resource = code === null ? undefined : RESOURCE_OF_CODE.get(code);
  return code === null || resource === undefined ? null : new LocalShortageError(resource, code);
}

/** Link-local addresses have a scope, and reach no receiver. */
function hasIpv6(): boolean {
  const all = Object.values(networkInterfaces()).flatMap((infos) => infos ?? []);
  return all.some((info) => info.family === 'IPv6' && !info.internal && info.scopeid === 0);
}
