import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020.js';
import { PROBLEMS, type ProblemCode } from '../../src/contract/problems.ts';
import type { ApiDocument, FuzzedOperation } from './document.ts';
import type { OutgoingRequest, Seen } from './sequences.ts';

const PROBLEM_TYPE = 'application/problem+json';
/** The one 5xx that speaks of the request and not of us. */
const VERSION_NOT_SUPPORTED = 505;
/** A hundred faults of a hundred characters or two: more than that is an answer that somebody else has paid for. */
const MAX_PROBLEM_CHARACTERS = 64_000;
/** Nothing of the inside: stacks, SQL, files, keys. */
const LEAK =
  /\bat .+:\d+|\b(select|insert into|update|delete from) .+\b(from|values|set|where)\b|\.ts\b|\/src\/|node_modules|pbk_|SQLITE_|ERR_POSTGRES|\bundefined\b|\[object/i;

/** Holds answers to what the document says of them; answers are validated by its own schemas and nothing else. */
export class AnswerCheck {
  readonly #ajv: Ajv2020;
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: ApiDocument) {
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    this.#ajv.addSchema(document, 'document');
  }

  /** Every way in which the answer is not what was promised; none when all is well. */
  faultsOf(operation: FuzzedOperation | null, { method, spoiler }: OutgoingRequest, seen: Seen): string[] {
    if (isBare(seen)) return spoiler !== null || seen.status === 431 ? [] : [`${seen.status} without a word`];
    // What a broken request asked for is for the parser to say.
    if (spoiler !== null) operation = null;
    const faults: string[] = [];
    if (seen.status >= 500) faults.push(`status ${seen.status}`);
    if (!/^[0-9a-f-]{36}$/.test(seen.headers.get('x-request-id') ?? '')) faults.push('no x-request-id');
    if (method === 'HEAD' && seen.body !== '') faults.push('HEAD with a body');
    if (seen.status >= 400) faults.push(...this.#faultsOfProblem(operation, method, seen));
    else if (operation !== null) faults.push(...this.#faultsOfSuccess(operation, method, seen));
    return faults;
  }

  #faultsOfProblem(operation: FuzzedOperation | null, method: string, { status, headers, body }: Seen): string[] {
    if (headers.get('content-type') !== PROBLEM_TYPE) return [`${status} as ${headers.get('content-type')}`];
    if (method === 'HEAD') return [];
    const faults = this.#invalid('#/components/schemas/Problem', body);
    if (faults.length > 0) return faults;
    const problem = JSON.parse(body) as {
      code: ProblemCode;
      status: number;
      detail: string;
      errors?: { message: string }[];
    };
    if (problem.status !== status || PROBLEMS[problem.code].status !== status)
      faults.push(`${problem.code} with ${status}`);
    if (body.length > MAX_PROBLEM_CHARACTERS) faults.push(`a problem of ${body.length} characters`);
    // Names are echoed from the request, so only our own words are searched.
    const said = [problem.detail, ...(problem.errors ?? []).map(({ message }) => message)].join('\n');
    if (LEAK.test(said)) faults.push(`says ${LEAK.exec(said)?.[0]}`);
    const documented = operation?.answers[status]?.content?.[PROBLEM_TYPE]?.examples ?? {};
    if (operation !== null && !Object.hasOwn(documented, problem.code))
      faults.push(`${status} ${problem.code} is not documented`);
    return faults;
  }

  #faultsOfSuccess(operation: FuzzedOperation, method: string, { status, headers, body }: Seen): string[] {
    const documented = operation.answers[status];
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

/** Refused by the HTTP parser itself, which knows no problems; nothing of ours comes without the id of its request. */
function isBare({ status, headers, body }: Seen): boolean {
  const refused = status === 0 || (status >= 400 && status < 500) || status === VERSION_NOT_SUPPORTED;
  return refused && body === '' && !headers.has('x-request-id');
}

function toPointer(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}
