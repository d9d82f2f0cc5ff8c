import { z } from 'zod';
import { BoundedMap } from '../bounded-map.ts';
import { type Parsed, parseBody, parseQuery } from '../contract/parse-input.ts';
import { type InputError, invalidRequest, type ProblemCode } from '../contract/problems.ts';
import type { Permission } from '../domain/keys/api-keys.ts';
import type { RequestSpan } from '../telemetry/tracer.ts';
import { authenticate, authenticateOperator, requirePermission } from './auth/authenticate.ts';
import type { Limited } from './auth/rate-limits.ts';
import type { ApiContext, Caller, Operator, RequestState } from './context.ts';
import { readJson, readRaw } from './http/request-body.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

type Responses = Readonly<
  Record<
    number,
    {
      description: string;
      schema?: z.ZodType;
      headers?: Record<string, string>;
      /** An example of the server-sent events that `accept: text/event-stream` gets, or everyone where there is no schema. */
      eventStream?: string;
    }
  >
>;

/** The section of the API reference that an operation is in. */
export type Tag =
  | ('Webhooks' | 'Endpoints' | 'Secrets' | 'Events' | 'Deliveries')
  | ('Chain' | 'Invoices' | 'Listen sessions' | 'Keys' | 'Audit' | 'Operator');

type Documentation = {
  readonly method: Method;
  /** Below the base path, if the operation needs a key, with at most one parameter in braces. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly responses: Responses;
  /** The problems of this operation, in addition to the problems of every operation. */
  readonly problems?: readonly ProblemCode[];
};

type Input<Client, Query, Body> = {
  readonly context: ApiContext;
  readonly caller: Client;
  readonly request: Request;
  /** The value of the path's parameter; empty when the path has none. */
  readonly id: string;
  readonly query: Query;
  /** The query string as it was sent. */
  readonly search: string;
  readonly body: Body;
  /** The body as it was sent; empty unless the operation declares a `rawBody`. */
  readonly bytes: Uint8Array;
  /** Exempts this request's connection from the limit on idle connections. */
  readonly keepOpen: () => void;
  /** Null if its trace is not recorded. */
  readonly span: RequestSpan | null;
};

/** A body that the handler parses itself, because it needs the exact bytes. */
type RawBody = { readonly contentType: string; readonly maxBytes: number; readonly schema: z.ZodType };

export type Handler = (
  context: ApiContext,
  state: RequestState,
  request: Request,
  id: string,
) => Response | Promise<Response>;

/**
 * One operation, declared once. Its route, its documentation, its permission and all checks of its inputs come from
 * this declaration, so none of them can be missing or disagree with another.
 */
export type Operation = Documentation & {
  /**
   * The permission that a key needs. `any`: every valid key may call the operation. `operator`: only an operator's key
   * may. `none`: no key is needed.
   */
  readonly permission: Permission | 'any' | 'operator' | 'none';
  readonly query: z.ZodObject | null;
  readonly body: z.ZodType | null;
  readonly rawBody: RawBody | null;
  readonly respond: Handler;
};

type Declaration<Client, Query extends z.ZodObject, Body extends z.ZodType> = Documentation & {
  readonly query?: Query;
  readonly body?: Body;
  readonly rawBody?: RawBody;
  readonly handle: (input: Input<Client, z.output<Query>, z.output<Body>>) => Response | Promise<Response>;
};

/** An operation of an entity, called with one of its keys or by the operator acting for it. */
export function operation<Query extends z.ZodObject, Body extends z.ZodType>(
  declaration: Declaration<Caller, Query, Body> & {
    readonly permission: Permission | 'any';
    /** The rate limit that applies; the one for requests by default. */
    readonly limited?: Limited;
  },
): Operation {
  const { permission, limited = 'requests' } = declaration;
  return declare(declaration, permission, async (context, state, headers) => {
    const caller = await authenticate(context, state, headers);
    state.entityId = caller.entityId;
    if (permission !== 'any') requirePermission(caller, permission);
    context.limits.admit(state, caller.keyId, limited);
    return caller;
  });
}

/** An operation across all entities, under `/admin/v1`. */
export function adminOperation<Query extends z.ZodObject, Body extends z.ZodType>(
  declaration: Declaration<Operator, Query, Body> & { readonly scope: 'entities:read' | 'entities:write' },
): Operation {
  const { scope, ...rest } = declaration;
  return declare(rest, 'operator', (context, state, headers) => authenticateOperator(context, state, headers, scope));
}

/** An operation that needs no credentials, at exactly its path. */
export function openOperation<Query extends z.ZodObject, Body extends z.ZodType>(
  declaration: Declaration<null, Query, Body>,
): Operation {
  return declare(declaration, 'none', async (context, state) => {
    context.limits.admitAddress(state.clientAddress);
    return null;
  });
}

function declare<Client, Query extends z.ZodObject, Body extends z.ZodType>(
  { handle, query, body, rawBody, ...documentation }: Declaration<Client, Query, Body>,
  permission: Operation['permission'],
  admit: (context: ApiContext, state: RequestState, headers: Headers) => Promise<Client>,
): Operation {
  // If every field is optional, the whole body is optional.
  const emptyBody = () => (body?.safeParse({}).success ? {} : undefined);
  const queries = new QueryParser(query);
  return {
    ...documentation,
    permission,
    query: query ?? null,
    body: body ?? null,
    rawBody: rawBody ?? null,
    async respond(context, state, request, id) {
      const caller = await admit(context, state, request.headers);
      // The type and size of the body are checked before the values of any input.
      const json = body === undefined ? undefined : await readJson(request, emptyBody);
      const bytes = rawBody === undefined ? NO_BYTES : await readRaw(request, rawBody);
      const { search, keepOpen, span } = state;
      const parsedQuery = queries.parse(search);
      if (body === undefined && rawBody === undefined && hasBody(request)) throw invalidRequest([UNEXPECTED_BODY]);
      const parsedBody = body === undefined ? NO_BODY : parseBody(body, json);
      if (!parsedQuery.ok || !parsedBody.ok) throw invalidRequest([...errorsIn(parsedQuery), ...errorsIn(parsedBody)]);
      const values = { query: parsedQuery.value, body: parsedBody.value as z.output<Body> };
      return handle({ context, caller, request, id, search, bytes, keepOpen, span, ...values });
    },
  };
}

/** An ignored body would be dangerous: a filter or a `dryRun` in it would seem to have been applied. */
const UNEXPECTED_BODY: InputError = { in: 'body', name: '', message: 'must be empty; send inputs in the query string' };

function hasBody(request: Request): boolean {
  return request.body !== null && request.headers.get('content-length') !== '0';
}

const NO_BYTES = new Uint8Array();
const NO_BODY: Parsed<undefined> = { ok: true, value: undefined };

function errorsIn(parsed: Parsed<unknown>): readonly InputError[] {
  return parsed.ok ? [] : parsed.errors;
}

const MAX_PARSED_QUERIES = 1_000;
const MAX_REMEMBERED_LENGTH = 256;

const noParameters = z.strictObject({});

/**
 * Parses the query strings of one operation. Most requests repeat a few query strings, so valid results are remembered.
 */
export class QueryParser<Query extends z.ZodObject> {
  readonly #parsed = new BoundedMap<string, Parsed<z.output<Query>>>(MAX_PARSED_QUERIES);
  readonly #schema: z.ZodObject;

  constructor(schema: Query | undefined) {
    this.#schema = schema ?? noParameters;
  }

  parse(search: string): Parsed<z.output<Query>> {
    const known = this.#parsed.get(search);
    if (known !== undefined) return known;
    const parsed = parseQuery(this.#schema, search) as Parsed<z.output<Query>>;
    if (!parsed.ok || search.length > MAX_REMEMBERED_LENGTH) return parsed;
    // Many requests share the value.
    Object.freeze(parsed.value);
    this.#parsed.set(search, parsed);
    return parsed;
  }
}
