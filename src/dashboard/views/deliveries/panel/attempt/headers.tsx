import type { Attempt } from '../../../../../client/deliveries.ts';
import { CopyButton } from '../../../../components/values/copy.tsx';
import { curlOfAttempt, maskedVariables } from './curl.ts';

/** The headers of one attempt, folded, and its request as a command. */
export function AttemptHeaders({ attempt, body }: { attempt: Attempt; body: string }) {
  const { requestHeaders, responseHeaders, statusCode } = attempt;
  return (
    <details class="attempt-headers">
      <summary>
        Headers<span class="visually-hidden"> of attempt {attempt.attempt}</span>
      </summary>
      <HeaderList title="Request headers" headers={requestHeaders} />
      {responseHeaders !== null ? (
        <HeaderList title="Response headers" headers={responseHeaders} />
      ) : statusCode === null ? null : (
        <p class="small muted">The headers of a response are kept only if the attempt failed.</p>
      )}
      <CopyButton text={curlOfAttempt(attempt, body)} label="Copy as curl" />
      <Masked names={maskedVariables(attempt)} />
    </details>
  );
}

function Masked({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p class="small muted">
      The command has variables for masked values: <code>{names.join(' ')}</code>
    </p>
  );
}

function HeaderList({ title, headers }: { title: string; headers: Attempt['requestHeaders'] }) {
  return (
    <>
      <h4>{title}</h4>
      {headers.length === 0 ? <p class="small muted">None</p> : null}
      <dl class="headers">
        {headers.map(({ name, value }, index) => (
          <div key={index}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
