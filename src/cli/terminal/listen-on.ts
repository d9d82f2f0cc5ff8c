import { lookup } from 'node:dns/promises';
import { CommandError } from './command-error.ts';
import { SERVE } from './invocation.ts';

const MAX_PORT = 65_535;

/** The address to listen on, and the names of its settings: `HOST` and `PORT`, or `--host` and `--port`. */
export type ListenTarget = {
  readonly host: string;
  readonly port: number;
  readonly hostSetting: string;
  readonly portSetting: string;
};

export type ResolveHost = (host: string) => Promise<string>;

const resolveWithSystem: ResolveHost = async (host) => (await lookup(host)).address;

/**
 * Starts a server on the address of the host. Resolves the name first, because `Bun.serve` reports a name that it
 * cannot resolve with an unrelated error number, which on some machines means a port in use.
 */
export async function listenOn<Listening>(
  target: ListenTarget,
  start: (address: string) => Listening | Promise<Listening>,
  resolveHost: ResolveHost = resolveWithSystem,
): Promise<Listening> {
  const address = await resolveHost(target.host).catch((error) => {
    throw new CommandError(
      `${target.hostSetting} ${target.host} cannot be resolved (${codeOf(error)}); ${howToSetHost(target)}`,
    );
  });
  try {
    return await start(address);
  } catch (error) {
    throw explainListenError(error, target, address);
  }
}

function explainListenError(error: unknown, target: ListenTarget, address: string): unknown {
  // Other failures of a start, such as a store that cannot be opened, have codes of the same names.
  if (!(error instanceof Error && 'syscall' in error && error.syscall === 'listen')) return error;
  const { host, port, hostSetting, portSetting } = target;
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return new CommandError(
        `port ${port} on ${host} is in use. Stop the program that uses it, or choose another port: ${anotherPort(target)}`,
      );
    case 'EADDRNOTAVAIL': {
      const which = host === address ? `${host} is` : `${host} resolves to ${address}, which is`;
      return new CommandError(`${hostSetting} ${which} not an address of this machine; ${howToSetHost(target)}`);
    }
    case 'EACCES':
      return new CommandError(
        `this user may not listen on port ${port} of ${host}; set ${portSetting} to one above 1023, or 0 for any free one`,
      );
    default:
      return new CommandError(
        `cannot listen on ${host}:${port} (${codeOf(error)}); check ${hostSetting} and ${portSetting}`,
      );
  }
}

/** The text that the user would type: an option of the command, or a variable before it. */
function anotherPort({ port, portSetting }: ListenTarget): string {
  const next = port < MAX_PORT ? port + 1 : port - 1;
  return portSetting.startsWith('--') ? `${portSetting} ${next}` : `${portSetting}=${next} ${SERVE}`;
}

function howToSetHost({ hostSetting }: ListenTarget): string {
  return `set ${hostSetting} to 127.0.0.1, or to 0.0.0.0 for every interface`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
