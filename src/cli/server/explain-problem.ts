import { ConnectionError, type PaybellError, ProblemError, TimeLimitError } from '../../client/errors.ts';
import { toOption } from '../formats/list-options.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { printable } from '../terminal/output.ts';

/** What a server refused, or did not answer, in words that say what to do. */
export function explainRefusal(error: PaybellError): string {
  if (error instanceof ConnectionError || error instanceof TimeLimitError) {
    return `${printable(error.message)}\n      Check PAYBELL_URL, and that the server runs: ${PAYBELL} serve`;
  }
  if (!(error instanceof ProblemError)) return printable(error.message);
  // The detail of such a problem only says that its faults are listed.
  const lines =
    error.errors.length > 0 ? ['the server refused it:', ...error.errors.map(faultLine)] : [printable(error.detail)];
  const next = nextStep(error);
  if (next !== null) lines.push(next);
  if (error.requestId !== null) lines.push(`(${error.status} ${error.code}, request ${printable(error.requestId)})`);
  return lines.join('\n      ');
}

/** A fault of the query is one of an option here, and so is one of most bodies. */
function faultLine(fault: ProblemError['errors'][number]): string {
  const name = fault.in === 'query' ? `--${toOption(fault.name)}` : fault.name;
  return printable(`${name} ${fault.message}`);
}

function nextStep({ status, code }: ProblemError): string | null {
  if (code === 'unexpected_answer') return 'Something other than Paybell answered: check PAYBELL_URL.';
  if (status === 401) return `Check PAYBELL_API_KEY and PAYBELL_ENTITY_ID, or store another key: ${PAYBELL} login`;
  if (code === 'missing_permission') {
    return `Ask the operator for a key that has it: ${PAYBELL} keys create --entity <id> --permissions <list>`;
  }
  if (status === 403) return 'The key belongs to another entity: check PAYBELL_ENTITY_ID.';
  return null;
}
