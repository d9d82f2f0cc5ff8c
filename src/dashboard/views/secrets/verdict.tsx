import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from '../../components/icon.tsx';
import type { Tone } from '../../components/values/badge.tsx';
import { durationText } from '../../components/values/duration-text.ts';
import { firstDifference, type SignedRequest, type Verdict } from './diagnose.ts';

type Explanation = { tone: Tone; icon: IconName; title: string; text: ComponentChildren };

/** Whether the signature is valid and, if not, what is wrong and where to look. */
export function VerdictCard({ request, verdict }: { request: SignedRequest; verdict: Verdict }) {
  const { tone, icon, title, text } = explain(request, verdict);
  return (
    <div class={`verdict verdict-${tone}`}>
      <Icon name={icon} size={20} />
      <div>
        <h3>{title}</h3>
        {text}
      </div>
    </div>
  );
}

function explain(request: SignedRequest, verdict: Verdict): Explanation {
  switch (verdict.kind) {
    case 'valid':
      return {
        tone: 'good',
        icon: 'check',
        title: 'Signature is valid',
        text: <p>The body is unaltered, the secret is correct and the timestamp is recent.</p>,
      };
    case 'too_old':
      return explainAge('Timestamp is too old', verdict.ageS, 'This is a replay, or the receiver’s clock is fast.');
    case 'too_new':
      return explainAge('Timestamp is in the future', -verdict.ageS, 'The clock of this device is slow.');
    case 'wrong_secret':
      return { tone: 'bad', icon: 'cross', title: 'Wrong secret', text: <WrongSecret id={verdict.rightSecretId} /> };
    case 'altered_body':
      return {
        tone: 'bad',
        icon: 'cross',
        title: 'Body was altered',
        text: <AlteredBody received={request.body} sent={verdict.sentBody} />,
      };
    case 'no_match':
      return { tone: 'bad', icon: 'cross', title: 'Signature does not match', text: <NoMatch /> };
    case 'unverifiable':
      return { tone: 'warning', icon: 'alert', title: 'Cannot verify the signature', text: <p>{verdict.text}.</p> };
  }
}

function explainAge(title: string, ageS: number, cause: string): Explanation {
  return {
    tone: 'warning',
    icon: 'clock',
    title,
    text: (
      <p>
        The secret is correct and the body is unaltered, but the timestamp is {durationText(ageS * 1000)} off. Receivers
        allow 5 min. {cause} A request that you paste later than that is always too old.
      </p>
    ),
  };
}

function WrongSecret({ id }: { id: string | null }) {
  if (id === null) {
    return (
      <p>
        The body is exactly what Paybell sent, but neither this secret nor any active secret has signed it. The secret
        that signed it may have expired after a rotation.
      </p>
    );
  }
  return (
    <p>
      The request is signed with another active secret, <code>{id}</code>. Configure your receiver with this secret.
    </p>
  );
}

const EXCERPT_CHARS = 24;

/** Marks the first difference and makes white space visible, because a stray line break is hard to see. */
function AlteredBody({ received, sent }: { received: string; sent: string }) {
  const position = firstDifference(received, sent);
  const from = Math.max(0, position - EXCERPT_CHARS);
  const excerpt = (text: string) => (
    <dd>
      {from > 0 ? '…' : ''}
      {visible(text.slice(from, position))}
      <mark>{visible(text.charAt(position)) || 'end of body'}</mark>
      {visible(text.slice(position + 1, position + EXCERPT_CHARS))}
    </dd>
  );
  return (
    <>
      <p>
        The secret is correct, but the body is not what Paybell sent: it differs from character {position + 1} on.
        Verify the signature before parsing the body.
      </p>
      <dl class="facts mono">
        <dt>Sent</dt>
        {excerpt(sent)}
        <dt>Received</dt>
        {excerpt(received)}
      </dl>
    </>
  );
}

function visible(text: string): string {
  return text.replaceAll('\n', '↵').replaceAll('\t', '⇥').replaceAll(' ', '·');
}

function NoMatch() {
  return (
    <p>
      Either the secret is wrong or the body was altered. Paybell cannot tell which, because there is no delivery with
      this <code>webhook-id</code> or this API key may not read it.
    </p>
  );
}
