import { expect, test } from 'bun:test';
import { parseReport, slowestFiles, summarize } from './report.ts';

/** As Bun writes it for one file with a block of tests and one file that fails. */
const XML = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="4" assertions="3" failures="1" skipped="1" time="6.1">
  <testsuite name="test/a.test.ts" file="test/a.test.ts" tests="3" assertions="2" failures="0" skipped="1" time="1.5" hostname="x">
    <testsuite name="a &quot;list&quot;" file="test/a.test.ts" line="3" tests="3" assertions="2" failures="0" skipped="1" time="1.5" hostname="x">
      <testcase name="is &lt;exact&gt;" classname="a &quot;list&quot;" time="1.2" file="test/a.test.ts" line="4" assertions="1" />
      <testcase name="is short" classname="a &quot;list&quot;" time="0.2" file="test/a.test.ts" line="5" assertions="1" />
      <testcase name="is far" classname="a &quot;list&quot;" time="0" file="test/a.test.ts" line="6" assertions="0">
        <skipped />
      </testcase>
    </testsuite>
  </testsuite>
  <testsuite name="test/b.test.ts" file="test/b.test.ts" tests="1" assertions="1" failures="1" skipped="0" time="4.25" hostname="x">
    <testcase name="hangs" classname="" time="4.2" file="test/b.test.ts" line="1" assertions="0">
      <failure type="TimeoutError" message="test timed out" />
    </testcase>
  </testsuite>
</testsuites>`;

test('a report counts the tests and names those that failed or were skipped', () => {
  expect(parseReport(XML)).toEqual({
    files: [
      { file: 'test/a.test.ts', seconds: 1.5 },
      { file: 'test/b.test.ts', seconds: 4.25 },
    ],
    passed: 2,
    failed: ['hangs'],
    skipped: ['a "list" > is far'],
  });
});

test('the slowest files come first, and blocks of tests are not files', () => {
  expect(slowestFiles(parseReport(XML))).toEqual(['    4.3 s  test/b.test.ts', '    1.5 s  test/a.test.ts']);
});

test('the summary ends with the totals on a line of their own', () => {
  const lines = summarize('short', parseReport(XML), 7).split('\n');
  expect(lines[0]).toBe('failed: hangs');
  expect(lines.at(-1)).toBe('2 passed, 1 failed, 1 skipped');
});

test('a run that wrote no report has no tests', () => {
  expect(parseReport('')).toEqual({ files: [], passed: 0, failed: [], skipped: [] });
});
