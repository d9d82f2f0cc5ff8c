import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020.js';
import { PROBLEMS, type ProblemCode } from '../../src/contract/problems.ts';
import type { ApiDocument, FuzzedOperation } from './document.ts';
import type { OutgoingRequest, ReceivedResponse } from './transports.ts';

const PROBLEM_TYPE = 'application/problem+json';
/** The only 5xx that is caused by the request. */
const VERSION_NOT_SUPPORTED = 505;
/** Enough for a hundred input errors: a larger response would let a client amplify its request. */
const MAX_PROBLEM_CHARACTERS = 64_000;
/** Internals that must not leak: stack traces, SQL, file names, keys. */
const LEAK =
  /\bat .+:\d+|\b(select|insert into|update|delete from) .+\b(from|values|set|where)\b|\.ts\b|\/src\/|node_modules|pbk_|SQLITE_|ERR_POSTGRES|\bundefined\b|\[object/i;

/** Checks responses against the OpenAPI document and its schemas. */
export class ResponseCheck {
  readonly #ajv: Ajv2020;
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: ApiDocument) {
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    this.#ajv.addSchema(document, 'document');
  }

  /** Every way in which the response differs from the document. */
  violationsOf(
    operation: FuzzedOperation | null,
    { method, malformation }: OutgoingRequest,
    received: ReceivedResponse,
  ): string[] {
    if (isBare(received))
      return malformation !== null || received.status === 431 ? [] : [`${received.status} without a problem`];
    // Only the parser can tell which operation a malformed request is for.
    if (malformation !== null) operation = null;
    const violations: string[] = [];
    if (received.status >= 500) violations.push(`status ${received.status}`);
    if (!/^[0-9a-f-]{36}$/.test(received.headers.get('x-request-id') ?? '')) violations.push('no x-request-id');
    // The server may respond before it reads what is malformed, to which the parser then responds by itself.
    const isNextResponse = malformation !== null && received.body.startsWith('HTTP/1.1 400 ');
    if (method === 'HEAD' && received.body !== '' && !isNextResponse) violations.push('HEAD with a body');
    if (received.status >= 400) violations.push(...this.#violationsOfProblem(operation, method, received));
    else if (operation !== null) violations.push(...this.#violationsOfSuccess(operation, method, received));
    return violations;
  }

  #violationsOfProblem(
    operation: FuzzedOperation | null,
    method: string,
    { status, headers, body }: ReceivedResponse,
  ): string[] {
    if (headers.get('content-type') !== PROBLEM_TYPE) return [`${status} as ${headers.get('content-type')}`];
    if (method === 'HEAD') return [];
    const violations = this.#invalid('#/components/schemas/Problem', body);
    if (violations.length > 0) return violations;
    const problem = JSON.parse(body) as {
      code: ProblemCode;
      status: number;
      detail: string;
      errors?: { message: string }[];
    };
    if (problem.status !== status || PROBLEMS[problem.code].status !== status)
      violations.push(`${problem.code} with ${status}`);
    if (body.length > MAX_PROBLEM_CHARACTERS) violations.push(`a problem of ${body.length} characters`);
    // The names of inputs are echoed from the request, so only the messages are searched.
    const messages = [problem.detail, ...(problem.errors ?? []).map(({ message }) => message)].join('\n');
    if (LEAK.test(messages)) violations.push(`leaks ${LEAK.exec(messages)?.[0]}`);
    const documented = operation?.responses[status]?.content?.[PROBLEM_TYPE]?.examples ?? {};
    if (operation !== null && !Object.hasOwn(documented, problem.code))
      violations.push(`${status} ${problem.code} is not documented`);
    return violations;
  }

  #violationsOfSuccess(
    operation: FuzzedOperation,
    method: string,
    { status, headers, body }: ReceivedResponse,
  ): string[] {
    const documented = operation.responses[status];
    if (documented === undefined) return [`${status} is not documented`];
    const [type] = Object.keys(documented.content ?? {});
    if (type === undefined) return body === '' ? [] : [`${status} with a body`];
    if (headers.get('content-type') !== type) return [`${status} as ${headers.get('content-type')}`];
    const at = [
      'paths',
      operation.path,
      operation.method.toLowerCase(),
      'responses',
      String(status),
      'content',
      type,
      'schema',
    ];
    return method === 'HEAD' ? [] : this.#invalid(`#/${at.map(toPointer).join('/')}`, body);
  }

  #invalid(pointer: string, body: string): string[] {
    let value: unknown;
    try {
      value = JSON.parse(body);
    } catch {
      return [`not JSON: ${body.slice(0, 80)}`];
    }
    const validate = this.#compiled.get(pointer) ?? this.#ajv.compile({ $ref: `document${pointer}` });
    this.#compiled.set(pointer, validate);
    return validate(value)
      ? []
      : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  }
}

/** From the HTTP parser itself, which sends no problems. Every response of the app has a request id. */
function isBare({ status, headers, body }: ReceivedResponse): boolean {
  const rejected = status === 0 || (status >= 400 && status < 500) || status === VERSION_NOT_SUPPORTED;
  return rejected && body === '' && !headers.has('x-request-id');
}

function toPointer(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}
