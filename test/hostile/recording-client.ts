import { createHttpClient, type HttpClient, type HttpRequest } from '../../src/delivery/http/client.ts';
import type { HttpResponse } from '../../src/delivery/http/response-parser.ts';

export const PUBLIC = '93.184.216.34';
export const PUBLIC_V6 = '2606:4700:4700::1111';

const LOOPBACK = /^(127\.|0\.0\.0\.0$|::1?$|::ffff:(127\.|7f)|::7f)/;

const TAKEN: HttpResponse = { status: 200, retryAfter: null, body: 'public' };

/** The URL that a call stands for, with the address in the place of the name. */
export function urlOf({ peer: { address, port, isSecure }, head }: HttpRequest): string {
  const host = address.includes(':') ? `[${address}]` : address;
  return `${isSecure ? 'https' : 'http'}://${host}:${port}${head.split(' ')[1]}`;
}

/**
 * Stands in the place of dialling: dials loopback for real, where a canary listens, and answers for everything else by
 * itself, so that even a broken guard reaches no other machine.
 */
export function recordingClient(answer: () => HttpResponse = () => TAKEN) {
  const calls: HttpRequest[] = [];
  const dialled: string[] = [];
  const clientForReal = createHttpClient();
  const client: HttpClient = async (call, deadline) => {
    calls.push(call);
    dialled.push(urlOf(call));
    return LOOPBACK.test(call.peer.address) ? clientForReal(call, deadline) : answer();
  };
  return { calls, dialled, client };
}
