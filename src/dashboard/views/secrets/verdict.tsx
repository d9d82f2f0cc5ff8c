import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from '../../components/icon.tsx';
import type { Tone } from '../../components/values/badge.tsx';
import { spanText } from '../../components/values/duration-text.ts';
import { firstDifference, type Post, type Verdict } from './diagnose.ts';

type Words = { tone: Tone; icon: IconName; title: string; text: ComponentChildren };

/** Whether the signature holds, and if not, what is wrong and where to look. */
export function VerdictCard({ post, verdict }: { post: Post; verdict: Verdict }) {
  const { tone, icon, title, text } = wordsFor(post, verdict);
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

function wordsFor(post: Post, verdict: Verdict): Words {
  switch (verdict.kind) {
    case 'holds':
      return {
        tone: 'good',
        icon: 'check',
        title: 'The signature holds',
        text: <p>The body is as Paybell sent it, the secret is right, and the post is fresh.</p>,
      };
    case 'too_old':
      return agedWords('Too old', 'clock', verdict.ageS, 'This is a replay, or the receiver’s clock is fast.');
    case 'too_new':
      return agedWords('From the future', 'clock', -verdict.ageS, 'The clock of this machine is slow.');
    case 'wrong_secret':
      return { tone: 'bad', icon: 'cross', title: 'Wrong secret', text: <WrongSecret id={verdict.rightSecretId} /> };
    case 'altered_body':
      return {
        tone: 'bad',
        icon: 'cross',
        title: 'Altered body',
        text: <AlteredBody given={post.body} sent={verdict.sentBody} />,
      };
    case 'no_match':
      return { tone: 'bad', icon: 'cross', title: 'The signature does not match', text: <NoMatch /> };
    case 'unusable':
      return { tone: 'warning', icon: 'alert', title: 'It cannot be checked', text: <p>{verdict.text}.</p> };
  }
}

function agedWords(title: string, icon: IconName, ageS: number, why: string): Words {
  return {
    tone: 'warning',
    icon,
    title,
    text: (
      <p>
        The secret is right and the body is unaltered, but the timestamp is {spanText(ageS * 1000)} off; receivers allow
        5 min. {why} A post that you paste later than that is always too old.
      </p>
    ),
  };
}

function WrongSecret({ id }: { id: string | null }) {
  if (id === null) {
    return (
      <p>
        The body is byte for byte what Paybell sent, but neither this secret nor one that is in force has signed it. The
        secret that did may have ended with a rotation.
      </p>
    );
  }
  return (
    <p>
      The post is signed with another secret, <code>{id}</code>, which is in force: give that one to your receiver.
    </p>
  );
}

const AROUND = 24;

/** With the place where the two part, since a blank or a line break is hard to see. */
function AlteredBody({ given, sent }: { given: string; sent: string }) {
  const place = firstDifference(given, sent);
  const from = Math.max(0, place - AROUND);
  const excerpt = (text: string) => (
    <dd>
      {from > 0 ? '…' : ''}
      {visible(text.slice(from, place))}
      <mark>{visible(text.charAt(place)) || 'the end'}</mark>
      {visible(text.slice(place + 1, place + AROUND))}
    </dd>
  );
  return (
    <>
      <p>
        The secret is right, but these are not the bytes that were sent: they part at character {place + 1}. Check the
        signature before anything parses the body.
      </p>
      <dl class="facts mono">
        <dt>Sent</dt>
        {excerpt(sent)}
        <dt>Given</dt>
        {excerpt(given)}
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
      The secret is another one, or the body is not the bytes that were signed. Which of the two cannot be told: Paybell
      has no delivery with this <code>webhook-id</code>, or this key may not see it.
    </p>
  );
}
