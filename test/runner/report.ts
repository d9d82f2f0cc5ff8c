import { summarizeSkips } from '../support/requirements.ts';
import type { Suite } from './suites.ts';

/** The result of a run, from the JUnit report that Bun writes. */
export type Report = {
  readonly files: readonly { readonly file: string; readonly seconds: number }[];
  readonly passed: number;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
};

const SLOWEST = 10;
const SUITE = /<testsuite name="([^"]*)" file="[^"]*"[^>]* time="([\d.]+)"/g;
const CASE = /<testcase name="([^"]*)" classname="([^"]*)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Returns an empty report if Bun ended before it wrote one. */
export async function readReport(path: string): Promise<Report> {
  const file = Bun.file(path);
  return parseReport((await file.exists()) ? await file.text() : '');
}

export function parseReport(xml: string): Report {
  // Nested describe blocks are suites too, under the name of the block instead of the file.
  const files = [...xml.matchAll(SUITE)]
    .filter(([, name = '']) => name.endsWith('.test.ts'))
    .map(([, file = '', seconds]) => ({ file, seconds: Number(seconds) }));
  const cases = [...xml.matchAll(CASE)].map(([, name = '', block = '', body = '']) => ({
    title: decodeEntities(block === '' ? name : `${block} > ${name}`),
    isFailed: body.includes('<failure'),
    isSkipped: body.includes('<skipped'),
  }));
  return {
    files,
    passed: cases.filter(({ isFailed, isSkipped }) => !isFailed && !isSkipped).length,
    failed: cases.filter(({ isFailed }) => isFailed).map(({ title }) => title),
    skipped: cases.filter(({ isSkipped }) => isSkipped).map(({ title }) => title),
  };
}

export function slowestFiles({ files }: Report): string[] {
  return [...files]
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST)
    .map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`);
}

/** The closing lines of a run: the tests that failed, the tests that did not run, and the totals. */
export function summarize(suite: Suite, { passed, failed, skipped }: Report, seconds: number): string {
  return [
    ...failed.map((title) => `failed: ${title}`),
    ...(skipped.length === 0 ? [] : [summarizeSkips(skipped)]),
    `The ${suite} suite took ${seconds} s:`,
    `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`,
  ].join('\n');
}

function decodeEntities(text: string): string {
  return text
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replace(/&(\w+);/g, (whole, name) => ENTITIES[name] ?? whole);
}
