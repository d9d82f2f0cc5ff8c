export type Instruction = { readonly name: string; readonly rest: string; readonly stage: number };

/** The instructions of a Dockerfile, with continued lines joined and comments left out. */
export function instructionsOf(text: string): Instruction[] {
  let stage = -1;
  return text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
      if (name === 'FROM') stage++;
      return { name, rest, stage };
    });
}

const SECRET = /(KEY|TOKEN|PASSWORD|SECRET)\w*=/i;
const isExecForm = (rest: string) => /\[("[^"]*"(, )?)+\]$/.test(rest);

type Rule = readonly [name: RegExp, isRight: (rest: string) => boolean, sentence: string];

/** The rules of hadolint that need no shell to be understood, and those of this project. */
const RULES: readonly Rule[] = [
  [/^FROM$/, (rest) => /^[\w./-]+:(?!latest)\S*\d\S*( AS \w+)?$/.test(rest), 'FROM has to pin a version of its image'],
  [/^ADD$/, () => false, 'ADD downloads and unpacks: use COPY'],
  [
    /^RUN$/,
    (rest) => !/\b(sudo|cd|curl|wget)\b/.test(rest),
    'RUN changes no folder, downloads nothing and needs no sudo',
  ],
  [/^WORKDIR$/, (rest) => rest.startsWith('/'), 'WORKDIR has to be an absolute path'],
  [/^(ENTRYPOINT|CMD)$/, isExecForm, 'ENTRYPOINT and CMD are lists: a shell would keep signals from the program'],
  [/^HEALTHCHECK$/, isExecForm, 'HEALTHCHECK has a list as its command'],
  [/^(ENV|ARG)$/, (rest) => !SECRET.test(rest), 'ENV and ARG stay in the image: no secret belongs there'],
  [/^(MAINTAINER|ONBUILD|SHELL)$/, () => false, 'an instruction that this image does not need'],
];

export function findDockerfileErrors(text: string): string[] {
  const instructions = instructionsOf(text);
  const last = instructions.filter(({ stage }) => stage === Math.max(...instructions.map((each) => each.stage)));
  const broken = instructions.flatMap(({ name, rest }) =>
    RULES.filter(([names, isRight]) => names.test(name) && !isRight(rest)).map(([, , sentence]) => sentence),
  );
  const user = last.findLast(({ name }) => name === 'USER')?.rest ?? '0';
  const missing = ['HEALTHCHECK', 'ENTRYPOINT'].filter((wanted) => !last.some(({ name }) => name === wanted));
  return [
    ...broken,
    ...(Number(user) > 0
      ? []
      : ['USER has to be the number of a user other than root: Kubernetes cannot check a name']),
    ...missing.map((name) => `${name} is missing in the last stage`),
  ];
}
