import type { Server } from 'bun';
import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';
import type { App } from './app.ts';

/**
 * Turns Bun's own limit off, whose 413 has no body and comes before 401, 404 and 405. The app reads no more than its
 * own limits, and the rest waits at the client: a body of 300 MB cost the process 13 MB.
 */
const MAX_REQUEST_BYTES = Number.MAX_SAFE_INTEGER;
const IDLE_TIMEOUT_S = 30;
export const DRAIN_MS = 10_000;

export type ListeningServer = {
  readonly url: string;
  /** Accepts no new request, lets those in flight finish within ten seconds, and closes what is still open after that. */
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
    routes: routesOf(app),
    fetch: app.fetchUnknownMethod,
    error: (error) => {
      log.error({ err: error }, 'request failed outside the app');
      return new Response(null, { status: 500 });
    },
  });
  return { url: urlOf(server), stop: () => drain(server, log) };
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/**
 * Bun closes the connection of a method that it does not know, such as FOO, without a response. Only a path whose route
 * is `false` passes such a request on, as a GET. All known methods therefore have their own routes, and the remaining
 * requests have an unknown method. The paths of the app come first because a pattern costs half a microsecond for each
 * request.
 */
function routesOf(app: App): Bun.Serve.Routes<undefined, string> {
  const byMethod = Object.fromEntries(METHODS.map((method) => [method, app.fetch]));
  const patterns = ['/', '/:segment', '/:segment/*'];
  return { ...Object.fromEntries([...app.paths, ...patterns].map((path) => [path, byMethod])), '/*': false };
}

async function drain(server: Server<undefined>, log: Logger): Promise<void> {
  const deadline = Promise.withResolvers<void>();
  const timer = setTimeout(deadline.resolve, DRAIN_MS);
  await Promise.race([server.stop(), deadline.promise]);
  // The timer would keep the process alive.
  clearTimeout(timer);
  const { pendingRequests } = server;
  if (pendingRequests > 0) log.warn({ pendingRequests }, `requests did not end within ${DRAIN_MS} ms and are cut off`);
  // Not awaited, because it resolves only when every handler has ended, and a waiting handler may never end.
  void server.stop(true);
}

function urlOf(server: Server<undefined>): string {
  const host = server.hostname ?? '127.0.0.1';
  return `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`;
}
