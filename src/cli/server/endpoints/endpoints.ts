import { Argument, type Command } from 'commander';
import type { Endpoint, EndpointDetail } from '../../../client/endpoints.ts';
import { endpointListQuerySchema } from '../../../contract/endpoints/endpoint.ts';
import { lastFailureText } from '../../../contract/endpoints/last-failure.ts';
import { ENDPOINT_STATES, ORDERINGS, type Ordering } from '../../../domain/endpoints/settings.ts';
import { showCount } from '../../../domain/errors.ts';
import { addListOptions, type OptionValues, parseOptions } from '../../options/list-options.ts';
import { PAYBELL } from '../../terminal/invocation.ts';
import { paint, printJson, printLine, showDate } from '../../terminal/output.ts';
import { printFields, printTable, printTotal } from '../../terminal/table.ts';
import { addServerOptions, openSession } from '../session.ts';
import { addEndpointCertificate, showCertificate } from './endpoint-certificate.ts';
import { addEndpointGaps } from './endpoint-gaps.ts';

const EXAMPLE_ID = 'ep_0f9c2a6e0b17d3';

export function addEndpoints(program: Command): void {
  const endpoints = program
    .command('endpoints')
    .description('URLs with all webhooks that have them, and their settings');
  const list = endpoints
    .command('list')
    .description('list endpoints by their URLs')
    .option('--post-url <text>', 'only URLs that begin with this text')
    .option('--host <name>', 'only endpoints on this host')
    .option('--state <state>', `only endpoints in this state: ${ENDPOINT_STATES.join(', ')}`);
  addServerOptions(addListOptions(list), ['endpoints list --sort-by waiting', 'endpoints list --state failing']).action(
    listEndpoints,
  );
  const onEndpoint = (name: string, description: string) =>
    endpoints.command(name).description(description).argument('<endpointId>', 'id of the endpoint');
  const withExample = (command: Command) => addServerOptions(command, [`endpoints ${command.name()} ${EXAMPLE_ID}`]);
  withExample(onEndpoint('show', 'show the settings of an endpoint and its waiting deliveries')).action(showEndpoint);
  withExample(onEndpoint('pause', 'hold its deliveries until it is resumed')).action(pause);
  withExample(onEndpoint('resume', 'end a pause, and send the waiting deliveries')).action(resume);
  const order = onEndpoint('order', 'send the events of one agreement one after another, or without waiting');
  order.addArgument(new Argument('<ordering>', 'how deliveries are ordered').choices(ORDERINGS));
  addServerOptions(order, [`endpoints order ${EXAMPLE_ID} agreement`]).action(setOrdering);
  addEndpointCertificate(endpoints, EXAMPLE_ID);
  addEndpointGaps(endpoints, EXAMPLE_ID);
}

async function listEndpoints(options: OptionValues): Promise<void> {
  const { client, json, own } = openSession(options);
  // People read a list of URLs from A to Z.
  const query = { sortDir: own.sortBy === undefined ? 'asc' : undefined, ...own };
  const list = await client.endpoints.list(parseOptions(endpointListQuerySchema, query));
  if (json) return printJson(list);
  printTable(
    ['endpoint-id', 'state', 'ordering', 'webhooks', 'waiting', 'last sequence', 'name', 'url'],
    list.endpoints.map((endpoint) => [
      endpoint.endpointId,
      paintState(endpoint),
      endpoint.ordering,
      String(endpoint.webhooks),
      String(endpoint.waiting),
      String(endpoint.lastSequence),
      endpoint.name ?? '–',
      endpoint.postUrl,
    ]),
    `No endpoints match. Register a URL: ${PAYBELL} webhooks create <postUrl>`,
    { shorten: { name: 8, url: 24 }, leaveOut: ['ordering', 'webhooks', 'last sequence', 'name'] },
  );
  printTotal(list.totalResults, list.endpoints.length);
}

async function showEndpoint(endpointId: string, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const endpoint = await client.endpoints.get(endpointId);
  if (json) return printJson(endpoint);
  const { webhooks, suspendedWebhooks, rateLimit, headerNames } = endpoint;
  const suspended = suspendedWebhooks === 0 ? '' : ` (${suspendedWebhooks} suspended)`;
  const detail = stateDetail(endpoint);
  printFields({
    endpoint: endpoint.endpointId,
    url: endpoint.postUrl,
    name: endpoint.name ?? '–',
    state: detail === null ? paintState(endpoint) : `${paintState(endpoint)}: ${detail}`,
    webhooks: `${webhooks}${suspended}`,
    waiting: String(endpoint.waiting),
    'last sequence': String(endpoint.lastSequence),
    ordering: endpoint.ordering,
    'oldest stuck': showStuck(endpoint.oldestStuck),
    'rate limit': rateLimit === null ? 'none' : `${showCount(rateLimit, 'request')} per second`,
    headers: headerNames.length === 0 ? 'none' : headerNames.join(', '),
    certificate: showCertificate(endpoint),
    secret: endpoint.secret === 'own' ? 'its own' : "the entity's",
    created: showDate(endpoint.dateCreated),
  });
}

async function pause(endpointId: string, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const endpoint = await client.endpoints.pause(endpointId);
  if (json) return printJson(endpoint);
  printLine(`${endpoint.endpointId} is paused: its deliveries are held. ${PAYBELL} endpoints resume sends them.`);
}

async function resume(endpointId: string, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const endpoint = await client.endpoints.resume(endpointId);
  if (json) return printJson(endpoint);
  const waiting = `${showCount(endpoint.waiting, 'delivery', 'deliveries')} waiting.`;
  if (endpoint.suspendedWebhooks === 0)
    return printLine(`${endpoint.endpointId} is ${endpoint.state}, with ${waiting}`);
  const suspended = showCount(endpoint.suspendedWebhooks, 'webhook');
  printLine(`${endpoint.endpointId} is no longer paused, with ${waiting} Still suspended: ${suspended} of it.`);
}

async function setOrdering(endpointId: string, ordering: Ordering, options: OptionValues): Promise<void> {
  const { client, json } = openSession(options);
  const endpoint = await client.endpoints.update(endpointId, { ordering });
  if (json) return printJson(endpoint);
  printLine(
    endpoint.ordering === 'agreement'
      ? `${endpoint.endpointId} gets the events of one agreement one after another.`
      : `${endpoint.endpointId} gets events without waiting for earlier ones.`,
  );
}

function showStuck(stuck: EndpointDetail['oldestStuck']): string {
  if (stuck === null) return 'none';
  const { agreementId, deliveryId, attempts, waiting, dateCreated } = stuck;
  const others = showCount(waiting, 'delivery waits', 'deliveries wait');
  return `${agreementId}: ${others} for ${deliveryId} of ${showDate(dateCreated)} (${showCount(attempts, 'attempt')})`;
}

/** Since when and why an endpoint fails; null if the state needs no detail. */
function stateDetail(endpoint: Endpoint): string | null {
  const { state, lastSequence, dateFailingSince } = endpoint;
  if (state === 'active') return lastSequence === 0 ? 'no deliveries yet' : null;
  if (state !== 'failing') return null;
  const failure = lastFailureText(endpoint);
  return `since ${showDate(dateFailingSince)}${failure === null ? '' : ` (${failure})`}`;
}

export function paintState({ state }: Pick<Endpoint, 'state'>): string {
  return paint(state, state === 'active' ? 'green' : state === 'paused' ? 'yellow' : 'red');
}
