import { ConnectionError, type Fault, type PaybellError, ProblemError, TimeLimitError } from '../../client/errors.ts';
import { toOption } from '../options/list-options.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { printable } from '../terminal/output.ts';

/** The text of a failed call to the server, with a step that the user can take. */
export function explainClientError(error: PaybellError): string {
  if (error instanceof ConnectionError || error instanceof TimeLimitError) {
    return `${printable(error.message)}\n      Check PAYBELL_URL, and that the server is running: ${PAYBELL} serve`;
  }
  if (!(error instanceof ProblemError)) return printable(error.message);
  // If there are input errors, the detail only says that they are listed.
  const lines =
    error.errors.length > 0
      ? ['the server rejected the request:', ...error.errors.map(showInputError)]
      : [printable(error.detail)];
  const next = nextStep(error);
  if (next !== null) lines.push(next);
  if (error.requestId !== null) lines.push(`(${error.status} ${error.code}, request ${printable(error.requestId)})`);
  return lines.join('\n      ');
}

/** Names a query parameter as the option of the command. */
function showInputError(error: Fault): string {
  const name = error.in === 'query' ? `--${toOption(error.name)}` : error.name;
  return printable(`${name} ${error.message}`);
}

function nextStep({ status, code, permission }: ProblemError): string | null {
  if (code === 'unexpected_answer') return 'Check PAYBELL_URL: another service responded.';
  if (status === 401) {
    return (
      `Check PAYBELL_API_KEY and PAYBELL_ENTITY_ID, or store another key: ${PAYBELL} login\n` +
      `      The operator can create one on the server: ${PAYBELL} keys create --entity <id>`
    );
  }
  if (code === 'missing_permission') {
    const command = `${PAYBELL} keys create --entity <id> --permissions ${permission ?? '<list>'}`;
    return `Ask the operator for a key with this permission: ${printable(command)}`;
  }
  if (status === 403) return 'The key belongs to another entity: check PAYBELL_ENTITY_ID.';
  return null;
}
