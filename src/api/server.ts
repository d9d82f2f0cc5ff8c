import type { Server } from 'bun';
import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';
import type { App } from './app.ts';

/** Above every limit of the app, so that a client that exceeds one gets the app's problem. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;
const IDLE_TIMEOUT_S = 30;
const DRAIN_MS = 10_000;

export type ListeningServer = {
  readonly url: string;
  /** Accepts no new request, lets those in flight finish, and closes what is still open after that. */
  readonly stop: () => Promise<void>;
};

/** Serves the app on the configured host and port, with a limit on everything that a client can make it hold. */
export function listen(app: App, config: Config, log: Logger): ListeningServer {
  const server = Bun.serve({
    hostname: config.HOST,
    port: config.PORT,
    reusePort: config.REUSE_PORT,
    maxRequestBodySize: MAX_REQUEST_BYTES,
    idleTimeout: IDLE_TIMEOUT_S,
    development: false,
    fetch: app.fetch,
    error: (error) => {
      log.error({ err: error }, 'request failed outside the app');
      return new Response(null, { status: 500 });
    },
  });
  return { url: urlOf(server), stop: () => drain(server) };
}

async function drain(server: Server<undefined>): Promise<void> {
  const timer = setTimeout(() => void server.stop(true), DRAIN_MS);
  await server.stop();
  clearTimeout(timer);
}

function urlOf(server: Server<undefined>): string {
  const host = server.hostname ?? '127.0.0.1';
  return `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`;
}
