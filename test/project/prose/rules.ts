import type { Sentence } from './sentences.ts';

/** Rules for sentences whose syntax a reader stumbles over. docs/voice.md has the reasons, and a better sentence for each. */

const MAX_WORDS = 32;
const MAX_PASSIVES = 2;

const PARTICIPLE =
  '(?:\\w+ed|sent|made|read|told|kept|held|given|taken|written|known|found|left|lost|set|put|cut|said|shown|seen|done|chosen|built|paid|meant|brought|bound|drawn|heard|hidden)';
const PASSIVE = new RegExp(
  `\\b(?:is|are|was|were|be|been|being) (?:\\w+ly |not |never |already |still |also |only |no longer )?${PARTICIPLE}\\b`,
  'g',
);

/** Words that have a better name in the vocabulary, or that a reader would have to learn. */
const RETIRED =
  /\b(?:told|tellers?|tells? of|hears?|heard|meanwhile|beside)\b|\b(?:take[sn]?|took|taking)(?: \w+)? back\b|\bwithout (?:a )?holes?\b|\bkeeps? back\b|\bg(?:o|oes|oing) on\b(?! the\b)|\b(?:whoever|nobody|somebody|anew|mend(?:s|ed|ing)?|fares?|unwell|hand(?:ed)?[- ]over|the house|bells?|(?:stand|stands|standing|wait|waits|waiting|be|is|are|goes|go) in line)\b/i;
/** "In line with" is fine in a sentence. */
const RETIRED_IN_NAMES = new RegExp(`${RETIRED.source}|\\bin line\\b`, 'i');

type Rule = (sentence: Sentence) => boolean;

/** A whole sentence: not a heading, a label or the name of a column. */
function isProse({ kind, text }: Sentence): boolean {
  return kind === 'comment' || /[.:]$/.test(text);
}

function matches(pattern: RegExp, applies: Rule = () => true): Rule {
  return (sentence) => applies(sentence) && pattern.test(sentence.text);
}

const RULES: Readonly<Record<string, Rule>> = {
  'starts with a clause instead of a noun (What …, Those …, One that …)': matches(
    /^(?:What (?!is wrong|do\b|does\b|is the\b|are the\b|to do\b)|Those\b|Ones? (?:that|whose|which|with|who)\b|As (?:many|much) )/,
    isProse,
  ),
  'starts with "Of"': matches(/^Of (?!course\b)/, isProse),
  'uses a clause with "what" for a noun (what waits, of what was accepted)': matches(
    /(?<!^)\bwhat (?:became|becomes|waits?|waited|remains|comes|came|goes|stays|else|others?)\b|\b(?:of|for|with|by|from|to|behind|than|as|only|little|all|but) what (?:is|was|were|has|had)\b/,
  ),
  'uses "where" for "if"': matches(
    /^Where (?!to\b)[^,.?]{3,90}, |\b(?:null|undefined|false|true|empty|zero|0|none|nothing|throws|fails|refused|refuses|only|except|also|even|not|never|always|returns|left out|loaded|stored|counted|kept|once|here|found) where\b|, (?:or )?where (?:it|they|there|no|none|nothing|one|that|its|an?|the|more|few|many|all|only)\b/i,
    isProse,
  ),
  'uses "so many" for a number that it does not give': matches(
    /\bso (?:many|few|much)\b(?! (?:\w+ )?(?:\w+ )?that\b)/,
    isProse,
  ),
  'uses "also" for "even" or "including"': matches(
    /\balso (?:if|when|where|while|after|without|within|before|those|during)\b|, also (?:of|in|for|with|by|on|from|at|those)\b/,
  ),
  'uses "not … any more" for "no longer"': matches(/\bany more\b(?! than| of\b)/),
  'uses "is no …" for "is not a …"': matches(
    /(?<!\b[Tt]here )\b(?:is|are|was|were) (?:no|none of)\b(?! longer| more| less| other| fewer| such)|\b(?:in|of|to|by) no (?!more|longer|less|other|case|time|one)\w+/,
  ),
  'uses "is to be done"': matches(
    /\b(?:is|are|was|were) (?:never |not |only )?to (?:be \w+|come|stay|become|go|wait)\b/,
  ),
  'uses "a … of its own" for "its own …"': matches(
    /\ban? [\w -]{2,30} of (?:its|their|your|our) own\b|\bof (?:yours|theirs|ours)\b/,
  ),
  'uses "that of" or "those of" for a noun': matches(
    /\b(?:that|those|the ones?) of (?:its|their|the|an?|this|these|others?|one|another|both|all|each|it|them)\b/,
  ),
  'starts a comment with a pronoun or "So"': matches(
    /^(?:It|Its|They|Their|These|That|Them|Otherwise|Then|So) /,
    ({ kind, isFirst }) => kind === 'comment' && isFirst,
  ),
  'has three passives': ({ text }) => [...text.matchAll(PASSIVE)].length > MAX_PASSIVES,
  [`has more than ${MAX_WORDS} words`]: ({ text }) =>
    text.split(/\s+/).filter((word) => /[\w`]/.test(word)).length > MAX_WORDS,
};

/** The rules that a sentence breaks. */
export function faultsOf(sentence: Sentence): string[] {
  const broken = Object.entries(RULES).flatMap(([name, breaks]) => (breaks(sentence) ? [name] : []));
  const retired = RETIRED.exec(sentence.text)?.[0];
  return retired === undefined ? broken : [...broken, `uses a retired word (${retired})`];
}

/** Reads `MAX_UNWELL` and `standInLine` as words. */
export function retiredWordIn(name: string): string | null {
  const words = name.replace(/([a-z0-9])(?=[A-Z])/g, '$1 ').replace(/[_$]+/g, ' ');
  return RETIRED_IN_NAMES.exec(words)?.[0] ?? null;
}
