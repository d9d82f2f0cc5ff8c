import { type Caller, credentials, LIST_PATH } from '../harness/paybell-api.ts';
import { type Server, startProgram } from '../harness/processes.ts';

/** Starts a server that returns to every list request what Paybell returned to this one, with the same headers. */
export async function startBareServer(paybell: Server, caller: Caller): Promise<Server> {
  const response = await fetch(paybell.url + LIST_PATH, { headers: credentials(caller) });
  const body = await response.text();
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !/^(date|content-length)$/.test(name)));
  return startProgram('limits/bare-server-process.ts', { body, headers }, 'subject');
}
