import { useState } from 'preact/hooks';
import { paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Failure, Loading } from '../../components/lists/states.tsx';
import { ViewHead } from '../../components/lists/view-head.tsx';
import { Curl } from '../../components/values/copy.tsx';
import { useResponse } from '../../use-response.ts';
import { RotateDialog } from './rotate-dialog.tsx';
import { SecretCards, withoutTexts } from './secret-list.tsx';
import { SignatureTester } from './tester.tsx';

/** What signs the posts, how to change it without missing one, and why a signature does not hold. */
export function Secrets() {
  const [rotating, setRotating] = useState(false);
  const { data, problem, again } = useResponse('secrets', async (signal) =>
    withoutTexts(await paybell().secrets.list({ signal })),
  );
  return (
    <>
      <ViewHead
        title="Secrets"
        about="Every post is signed with each secret in force, so that receivers know it came from here, unaltered."
      >
        <ActionButton needs="secrets:write" onClick={() => setRotating(true)}>
          <Icon name="retry" size={14} />
          Rotate
        </ActionButton>
      </ViewHead>
      <div class="stack">
        {data === null && problem !== null ? <Failure problem={problem} again={again} /> : null}
        {data === null && problem === null ? <Loading what="secrets" /> : null}
        {data === null ? null : <SecretCards known={data} />}
        <SignatureTester />
        <details>
          <summary>The same from a terminal</summary>
          <Curl path="/webhooks/secret" />
          <Curl method="POST" path="/webhooks/secret/rotate" body={{ overlapHours: 24 }} />
        </details>
      </div>
      {rotating ? <RotateDialog onRotated={() => void again()} onClose={() => setRotating(false)} /> : null}
    </>
  );
}
