import { createHttpClient, type HttpClient, type HttpRequest } from '../../src/delivery/http/client.ts';
import type { HttpResponse } from '../../src/delivery/http/response-parser.ts';

export const PUBLIC = '93.184.216.34';
export const PUBLIC_V6 = '2606:4700:4700::1111';

const LOOPBACK = /^(127\.|0\.0\.0\.0$|::1?$|::ffff:(127\.|7f)|::7f)/;

const ACCEPTED: HttpResponse = { status: 200, retryAfter: null, body: 'public' };

/** The URL of a request, with the address in place of the name. */
export function urlOf({ peer: { address, port, isSecure }, head }: HttpRequest): string {
  const host = address.includes(':') ? `[${address}]` : address;
  return `${isSecure ? 'https' : 'http'}://${host}:${port}${head.split(' ')[1]}`;
}

/**
 * Replaces the HTTP client: sends to loopback, where a canary listens, and responds for everything else by itself, so
 * that even a broken guard reaches no other machine.
 */
export function recordingClient(respond: () => HttpResponse = () => ACCEPTED) {
  const requests: HttpRequest[] = [];
  const dialled: string[] = [];
  const realClient = createHttpClient();
  const client: HttpClient = async (request, deadline) => {
    requests.push(request);
    dialled.push(urlOf(request));
    return LOOPBACK.test(request.peer.address) ? realClient(request, deadline) : respond();
  };
  return { requests, dialled, client };
}
