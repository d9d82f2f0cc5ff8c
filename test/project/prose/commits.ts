import { ROOT } from './findings.ts';
import { withoutGitVariables } from './moves.ts';

/** Checks commit messages: `git log --oneline` shows the whole subject, and the body gives the reason. */

const MAX_SUBJECT = 72;

export function commitFaults(message: string): string[] {
  const [subject = '', blank, ...body] = message.trimEnd().split('\n');
  return [
    subject.length > MAX_SUBJECT ? `the subject has ${subject.length} characters; ${MAX_SUBJECT} is the limit` : '',
    /[:;] |\bbecause\b|, (?:which|where|so that|since|although|instead)\b/.test(subject)
      ? 'the reason belongs in the body'
      : '',
    /^(?:Let|Say|Tell) /.test(subject) ? 'the subject starts with a verb that does not name the change' : '',
    blank !== undefined && blank !== '' ? 'the second line is not empty' : '',
    body.join('').trim() === '' ? 'the body is missing' : '',
  ].filter((fault) => fault !== '');
}

/** The faults of each commit in a range of git, such as `main..HEAD`, without merges. */
export function faultsOfCommits(range: string): { commits: number; faults: string[] } {
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    ['git', 'log', '-z', '--no-merges', '--no-show-signature', '--format=%h%n%B', range, '--'],
    { cwd: ROOT, env: withoutGitVariables() },
  );
  if (exitCode !== 0) throw new Error(stderr.toString().trim());
  const commits = stdout
    .toString()
    .split('\0')
    .filter((commit) => commit !== '');
  const faults = commits.flatMap((commit) => {
    const [hash = '', ...message] = commit.split('\n');
    return commitFaults(message.join('\n')).map((fault) => `${hash} ${message[0]}: ${fault}`);
  });
  return { commits: commits.length, faults };
}
