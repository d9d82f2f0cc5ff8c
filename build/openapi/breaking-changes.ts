import { type Content, type Document, type Operation, type Parameter, parameterAt } from './document.ts';
import { type Reader, schemaChanges } from './schema-changes.ts';

/**
 * What a client or a receiver that was written for the released document cannot do with the current one. A comparison of our
 * own: those that are kept up and know OpenAPI 3.1 are programs in other languages, which `npm ci` cannot install.
 */

type Described = { readonly operation: Operation; readonly document: Document };
type Pair = { readonly was: Described; readonly is: Described; readonly place: string };

export function findBreakingChanges(released: Document, current: Document): string[] {
  return [
    ...pairChanges(released, current, 'paths', (pair) => [
      ...nameChanges(pair),
      ...parameterChanges(pair, 'server'),
      ...requestChanges(pair, 'server'),
      ...responseChanges(pair),
    ]),
    ...pairChanges(released, current, 'webhooks', (pair) => [
      ...parameterChanges(pair, 'client'),
      ...requestChanges(pair, 'client'),
    ]),
    ...errorChanges(released, current),
  ];
}

function pairChanges(
  released: Document,
  current: Document,
  section: 'paths' | 'webhooks',
  compare: (pair: Pair) => string[],
): string[] {
  return Object.entries(released[section] ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const place = section === 'webhooks' ? `webhook ${path}` : `${method.toUpperCase()} ${path}`;
      const now = current[section]?.[path]?.[method];
      if (now === undefined) return [`${place}: is removed`];
      return compare({
        was: { operation, document: released },
        is: { operation: now, document: current },
        place,
      });
    }),
  );
}

/** What generators make names of, and what a caller needs. */
function nameChanges({ was, is, place }: Pair): string[] {
  const [before, now] = [was.operation, is.operation];
  const credentials = (operation: Operation) => JSON.stringify(operation.security ?? []);
  return [
    ...(before.operationId === now.operationId ? [] : [`${place}: operationId was ${before.operationId}`]),
    ...(before['x-permission'] === now['x-permission'] ? [] : [`${place}: needs ${now['x-permission']} now`]),
    ...(credentials(before) === credentials(now) ? [] : [`${place}: needs other credentials`]),
  ];
}

function parametersOf({ operation, document }: Described): Map<string, Parameter> {
  const found = (operation.parameters ?? []).map((parameter) => parameterAt(document, parameter));
  return new Map(found.map((parameter) => [`${parameter.in} ${parameter.name}`, parameter]));
}

/** Headers of outgoing requests are read by receivers, which miss one that is gone and ignore a new one. */
function parameterChanges({ was, is, place }: Pair, reader: Reader): string[] {
  const [before, now] = [parametersOf(was), parametersOf(is)];
  const added = [...now].filter(([name, { required }]) => reader === 'server' && required && !before.has(name));
  return [
    ...added.map(([name]) => `${place}: ${name} is required now`),
    ...[...before].flatMap(([name, parameter]) => {
      const other = now.get(name);
      if (other === undefined) return [`${place}: ${name} is removed`];
      const [stricter, looser] = reader === 'server' ? [other, parameter] : [parameter, other];
      const says = reader === 'server' ? 'is required now' : 'can be absent now';
      return [
        ...(stricter.required && !looser.required ? [`${place}: ${name} ${says}`] : []),
        ...schemaChanges(
          { document: was.document, schema: parameter.schema ?? {} },
          { document: is.document, schema: other.schema ?? {} },
          reader,
          `${place}: ${name}`,
        ),
      ];
    }),
  ];
}

function requestChanges({ was, is, place }: Pair, reader: Reader): string[] {
  const [before, now] = [was.operation.requestBody, is.operation.requestBody];
  if (before === undefined) return now?.required ? [`${place}: needs a body now`] : [];
  const required = now?.required && !before.required ? [`${place}: needs a body now`] : [];
  const documents = { was: was.document, is: is.document };
  return [...required, ...contentChanges(before.content, now?.content, documents, reader, `${place}: body`)];
}

function responseChanges({ was, is, place }: Pair): string[] {
  return Object.entries(was.operation.responses).flatMap(([status, { content, headers = {} }]) => {
    const now = is.operation.responses[status];
    if (now === undefined) return [`${place}: does not respond with ${status} any more`];
    const lost = Object.keys(headers).filter((name) => now.headers?.[name] === undefined);
    const documents = { was: was.document, is: is.document };
    return [
      ...lost.map((name) => `${place}: ${status} has no header ${name} any more`),
      ...contentChanges(content, now.content, documents, 'client', `${place}: ${status}`),
    ];
  });
}

type Documents = { readonly was: Document; readonly is: Document };

function contentChanges(
  before: Content = {},
  now: Content = {},
  { was, is }: Documents,
  reader: Reader,
  place: string,
): string[] {
  return Object.entries(before).flatMap(([type, { schema = {} }]) => {
    const other = now[type];
    if (other === undefined) return [`${place}: ${type} is removed`];
    return schemaChanges({ document: was, schema }, { document: is, schema: other.schema ?? {} }, reader, place);
  });
}

const ERROR = { $ref: '#/components/schemas/Problem' };

function errorChanges(released: Document, current: Document): string[] {
  return schemaChanges({ document: released, schema: ERROR }, { document: current, schema: ERROR }, 'client', 'errors');
}
