import { faultsOfCommits } from './prose/commits.ts';
import { describeFinding, readFindings } from './prose/findings.ts';
import { checkProse, storeCounts } from './prose/ratchet.ts';

/**
 * Finds sentences that a reader stumbles over; docs/voice.md has the rules.
 *
 * - `npx bun test/project/prose.ts docs/finality.md src/chain` prints the findings in these files and folders, or all.
 * - `npm run prose` (`--accept`) stores the numbers that fell or moved. It refuses to raise one.
 * - `npx bun test/project/prose.ts --commits main..HEAD` checks the messages of commits.
 */

async function printFindings(paths: readonly string[]): Promise<number> {
  const isChosen = (file: string) =>
    paths.length === 0 || paths.some((path) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`));
  const chosen = [...(await readFindings())].filter(([file]) => isChosen(file));
  if (chosen.length === 0) return fail(`the check reads no file in ${paths.join(', ')}`);
  const findings = chosen.flatMap(([, found]) => found);
  for (const finding of findings) console.log(describeFinding(finding));
  const byFault = Map.groupBy(findings, ({ fault }) => fault.replace(/ word \(.*\)$/, ' word'));
  for (const [fault, { length }] of byFault) console.error(String(length).padStart(5), fault);
  console.error(`${findings.length} findings in ${chosen.length} files`);
  return findings.length === 0 ? 0 : 1;
}

async function acceptCounts(): Promise<number> {
  const { risen, found } = await checkProse();
  if (risen.length > 0) return fail(risen.join('\n'));
  await storeCounts(found);
  const total = Object.values(found).reduce((sum, number) => sum + number, 0);
  console.log(`${total} findings are left in ${Object.keys(found).length} files`);
  return 0;
}

function checkCommits(range: string): number {
  try {
    const { commits, faults } = faultsOfCommits(range);
    if (faults.length > 0) return fail(faults.join('\n'));
    console.log(`no faults in the messages of ${commits} commits`);
    return 0;
  } catch (error) {
    return fail(String(error));
  }
}

function fail(text: string): number {
  console.error(text);
  return 1;
}

const [first, ...others] = process.argv.slice(2);
if (first === '--accept' && others.length === 0) process.exitCode = await acceptCounts();
else if (first === '--commits') process.exitCode = checkCommits(others[0] ?? 'main..HEAD');
else process.exitCode = await printFindings(process.argv.slice(2));
