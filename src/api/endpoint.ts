import type { z } from 'zod';
import type { Permission } from '../domain/api-keys.ts';
import { type Parsed, parseBody, parseQuery } from '../domain/inputs.ts';
import { type Fault, invalidRequest, type ProblemCode } from '../domain/problems.ts';
import { authenticate, requirePermission } from './authenticate.ts';
import type { ApiContext, Caller, RequestState } from './context.ts';
import { readJson } from './request-body.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

type Answers = Readonly<Record<number, { description: string; schema?: z.ZodType; headers?: Record<string, string> }>>;

type Documentation = {
  readonly method: Method;
  /** Under the base path, with parameters in braces. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly answers: Answers;
  /** What can go wrong here beyond what can go wrong everywhere. */
  readonly problems?: readonly ProblemCode[];
};

type Input<Query, Body> = {
  readonly context: ApiContext;
  readonly caller: Caller;
  readonly request: Request;
  readonly path: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
};

/**
 * One operation, declared once: the OpenAPI document, the permission and the checks all come from here, so none of
 * them can be forgotten or disagree with another.
 */
export type Endpoint = Documentation & {
  readonly permission: Permission;
  readonly query: z.ZodObject | null;
  readonly body: z.ZodType | null;
  readonly run: (
    context: ApiContext,
    state: RequestState,
    request: Request,
    path: Record<string, string>,
  ) => Promise<Response>;
};

type Declaration<Query extends z.ZodObject, Body extends z.ZodType> = Documentation & {
  readonly permission: Permission;
  readonly query?: Query;
  readonly body?: Body;
  readonly handle: (input: Input<z.output<Query>, z.output<Body>>) => Promise<Response>;
};

export function endpoint<Query extends z.ZodObject, Body extends z.ZodType>(
  declaration: Declaration<Query, Body>,
): Endpoint {
  const { handle, query, body, ...documentation } = declaration;
  return {
    ...documentation,
    query: query ?? null,
    body: body ?? null,
    async run(context, state, request, path) {
      const caller = await authenticate(context, request.headers);
      state.entityId = caller.entityId;
      requirePermission(caller, declaration.permission);
      // Type and size of the body come before any fault in what the inputs say.
      const json = body === undefined ? undefined : await readJson(request);
      const parsedQuery = readQuery(query, request.url);
      const parsedBody = body === undefined ? nothing : parseBody(body, json);
      if (!parsedQuery.ok || !parsedBody.ok) throw invalidRequest([...faultsIn(parsedQuery), ...faultsIn(parsedBody)]);
      return handle({
        context,
        caller,
        request,
        path,
        query: parsedQuery.value as z.output<Query>,
        body: parsedBody.value as z.output<Body>,
      });
    },
  };
}

const nothing: Parsed<undefined> = { ok: true, value: undefined };

function readQuery(schema: z.ZodObject | undefined, url: string): Parsed<unknown> {
  const search = searchOf(url);
  if (schema !== undefined) return parseQuery(schema, search);
  if (search === '') return nothing;
  return { ok: false, faults: [{ in: 'query', name: search.split(/[=&]/)[0] ?? '', message: 'takes no parameters' }] };
}

/** What stands between the first `?` and a `#`, as it was sent. */
export function searchOf(url: string): string {
  const question = url.indexOf('?');
  if (question < 0) return '';
  const hash = url.indexOf('#', question);
  return hash < 0 ? url.slice(question + 1) : url.slice(question + 1, hash);
}

function faultsIn(parsed: Parsed<unknown>): readonly Fault[] {
  return parsed.ok ? [] : parsed.faults;
}
