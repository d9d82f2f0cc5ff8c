import type { z } from 'zod';
import { type Parsed, parseBody } from '../contract/parse-input.ts';
import { type InputError, invalidRequest, type ProblemCode } from '../contract/problems.ts';
import type { Permission } from '../domain/api-keys.ts';
import { authenticate, authenticateOperator, requirePermission } from './auth/authenticate.ts';
import type { Limited } from './auth/rate-limits.ts';
import type { ApiContext, Caller, Operator, RequestState } from './context.ts';
import { QueryReader } from './http/query-string.ts';
import { readJson } from './http/request-body.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

type Answers = Readonly<Record<number, { description: string; schema?: z.ZodType; headers?: Record<string, string> }>>;

/** Under which heading an operation is documented. */
export type Tag = 'Webhooks' | 'Secrets' | 'Events' | 'Deliveries' | 'Audit' | 'Operator';

type Documentation = {
  readonly method: Method;
  /** Under the base path, with parameters in braces. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly answers: Answers;
  /** What can go wrong here beyond what can go wrong everywhere. */
  readonly problems?: readonly ProblemCode[];
};

type Input<Who, Query, Body> = {
  readonly context: ApiContext;
  readonly caller: Who;
  readonly request: Request;
  /** What stands in the path's braces; no path has more than one. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
};

/** A body that the handler reads by itself, because its bytes matter and not only what they say. */
type RawBody = { readonly contentType: string; readonly schema: z.ZodType };

/**
 * One operation, declared once: the OpenAPI document, the permission and the checks all come from here, so none of
 * them can be forgotten or disagree with another.
 */
export type Operation = Documentation & {
  /** Which permission of a key opens it, or that only the operator's key does. */
  readonly permission: Permission | 'operator';
  readonly query: z.ZodObject | null;
  readonly body: z.ZodType | null;
  readonly rawBody: RawBody | null;
  readonly run: (context: ApiContext, state: RequestState, request: Request, id: string) => Promise<Response>;
};

type Declaration<Who, Query extends z.ZodObject, Body extends z.ZodType> = Documentation & {
  readonly query?: Query;
  readonly body?: Body;
  readonly rawBody?: RawBody;
  /** An answer that is known to hold still; asked for before the inputs are even parsed. */
  readonly reuse?: (context: ApiContext, caller: Who, request: Request) => Response | null;
  readonly handle: (input: Input<Who, z.output<Query>, z.output<Body>>) => Promise<Response>;
};

/** An operation of an entity: by one of its keys, or by the operator acting for it. */
export function operation<Query extends z.ZodObject, Body extends z.ZodType>(
  declaration: Declaration<Caller, Query, Body> & {
    readonly permission: Permission;
    /** Under which rate limit it falls; the one of requests when nothing is said. */
    readonly limited?: Limited;
  },
): Operation {
  const { permission, limited = 'requests' } = declaration;
  return declare(declaration, permission, authenticate, (context, state, caller) => {
    state.entityId = caller.entityId;
    requirePermission(caller, permission);
    context.limits.admit(state, caller.keyId, limited);
  });
}

/** An operation over all entities, under `/admin/v1`. */
export function adminOperation<Query extends z.ZodObject, Body extends z.ZodType>(
  declaration: Declaration<Operator, Query, Body>,
): Operation {
  return declare(declaration, 'operator', authenticateOperator, () => undefined);
}

function declare<Who, Query extends z.ZodObject, Body extends z.ZodType>(
  { handle, reuse, query, body, rawBody, ...documentation }: Declaration<Who, Query, Body>,
  permission: Operation['permission'],
  identify: (context: ApiContext, state: RequestState, headers: Headers) => Promise<Who>,
  admit: (context: ApiContext, state: RequestState, caller: Who) => void,
): Operation {
  // Where every field may be left out, so may the whole body.
  const emptyBody = body?.safeParse({}).success ? {} : undefined;
  const queries = new QueryReader(query);
  return {
    ...documentation,
    permission,
    query: query ?? null,
    body: body ?? null,
    rawBody: rawBody ?? null,
    async run(context, state, request, id) {
      const caller = await identify(context, state, request.headers);
      admit(context, state, caller);
      const known = reuse?.(context, caller, request);
      if (known != null) return known;
      // Type and size of the body come before any fault in what the inputs say.
      const json = body === undefined ? undefined : await readJson(request, emptyBody);
      const parsedQuery = queries.read(request.url);
      if (body === undefined && rawBody === undefined && hasBody(request)) throw invalidRequest([UNWANTED_BODY]);
      const parsedBody = body === undefined ? nothing : parseBody(body, json);
      if (!parsedQuery.ok || !parsedBody.ok) throw invalidRequest([...faultsIn(parsedQuery), ...faultsIn(parsedBody)]);
      return handle({
        context,
        caller,
        request,
        id,
        query: parsedQuery.value,
        body: parsedBody.value as z.output<Body>,
      });
    },
  };
}

/** Taken in silence, a filter or a `dryRun` in it would look as if it had counted. */
const UNWANTED_BODY: InputError = { in: 'body', name: '', message: 'is not taken here; inputs go into the query' };

function hasBody(request: Request): boolean {
  return request.body !== null && request.headers.get('content-length') !== '0';
}

const nothing: Parsed<undefined> = { ok: true, value: undefined };

function faultsIn(parsed: Parsed<unknown>): readonly InputError[] {
  return parsed.ok ? [] : parsed.faults;
}
