import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import * as values from '../../packages/sdk/src/index.js';
import { code, page, table } from './markdown.js';

const sdk = fileURLToPath(new URL('../../packages/sdk/', import.meta.url));

/**
 * docs/sdk.md: the exports of @gen3d/sdk, from its sources and their TSDoc, with TypeScript's compiler.
 *
 * TypeDoc writes 1,700 lines for these 40 names, with every inferred type spelled out at every use.
 */
export function sdkPage(): string {
  const checker = checkerOf(`${sdk}tsconfig.json`);
  return new SdkPage(checker.checker, checker.exports(`${sdk}src/index.ts`)).text();
}

interface Exported {
  symbol: ts.Symbol;
  /** `export type { ... }`: a zod schema is only a type for callers, although it is a value in the package. */
  onlyType: boolean;
}

function checkerOf(configPath: string) {
  const { config } = ts.readConfigFile(configPath, ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, sdk);
  const program = ts.createProgram(fileNames, options);
  const checker = program.getTypeChecker();
  const exports = (path: string): Exported[] => {
    const file = program.getSourceFile(path);
    const module = file && checker.getSymbolAtLocation(file);
    if (!module) throw new Error(`${path} is not a module`);
    return checker.getExportsOfModule(module).map((symbol) => {
      const specifier = symbol.declarations?.find(ts.isExportSpecifier);
      return {
        symbol: symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
        onlyType: specifier !== undefined && (specifier.isTypeOnly || specifier.parent.parent.isTypeOnly),
      };
    });
  };
  return { checker, exports };
}

class SdkPage {
  readonly #checker: ts.TypeChecker;
  readonly #exported: readonly Exported[];

  constructor(checker: ts.TypeChecker, exported: readonly Exported[]) {
    this.#checker = checker;
    this.#exported = exported;
  }

  text(): string {
    const of = (flags: ts.SymbolFlags) =>
      this.#exported.filter(({ symbol }) => symbol.flags & flags).map(({ symbol }) => symbol);
    const classes = of(ts.SymbolFlags.Class);
    const errors = classes.filter((symbol) => this.#isError(symbol)).sort(baseFirst);
    const [client, ...others] = classes.filter((symbol) => !errors.includes(symbol));
    if (!client) throw new Error('The SDK exports no client');
    const constants = this.#exported.filter(
      ({ symbol, onlyType }) => symbol.flags & ts.SymbolFlags.Variable && !onlyType,
    );
    const types = this.#exported.filter(({ symbol }) => symbol.flags & ts.SymbolFlags.TypeAlias);
    return page('the TSDoc in packages/sdk/src', [
      '# SDK reference',
      'Every export of `@gen3d/sdk`. [Its README](../packages/sdk/README.md) shows how to use it and which calls are retried. [api.md](api.md) explains the fields of the API’s objects, and [errors.md](errors.md) its error codes.',
      ...this.#classSection(client, 2, 'new Gen3d'),
      ...this.#partsOf(client).flatMap(([path, type]) => this.#classSection(type, 2, path)),
      ...others.flatMap((symbol) => this.#classSection(symbol, 2, symbol.name)),
      '## Functions',
      ...of(ts.SymbolFlags.Function).flatMap((symbol) => this.#functionSection(symbol)),
      '## Errors',
      this.#errorTable(errors),
      '## Options',
      ...of(ts.SymbolFlags.Interface).flatMap((symbol) => this.#interfaceSection(symbol)),
      '## Types',
      ...types.flatMap(({ symbol }) => this.#typeSection(symbol)),
      '## Constants',
      table(
        ['Name', 'Value', ''],
        constants.map(({ symbol }) => [code(symbol.name), code(this.#valueOf(symbol)), this.#docOf(symbol)]),
      ),
    ]);
  }

  #isError(symbol: ts.Symbol): boolean {
    const bases = (type: ts.Type): ts.Type[] => [type, ...(type.getBaseTypes() ?? []).flatMap(bases)];
    return bases(this.#checker.getDeclaredTypeOfSymbol(symbol)).some((base) => base.symbol.name === 'Error');
  }

  /** Properties such as `gen3d.jobs`, whose class is not exported. */
  #partsOf(client: ts.Symbol): Array<[path: string, type: ts.Symbol]> {
    return this.#membersOf(client).flatMap((member): Array<[string, ts.Symbol]> => {
      const type = this.#checker.getTypeOfSymbol(member).symbol;
      return type && type.flags & ts.SymbolFlags.Class ? [[`gen3d.${member.name}`, type]] : [];
    });
  }

  #membersOf(symbol: ts.Symbol): ts.Symbol[] {
    const { members } = symbol;
    const shown = [...(members?.values() ?? [])].filter((member) => {
      const declaration = member.declarations?.[0];
      return declaration && !(ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Private) && !isHidden(member);
    });
    const isConstructor = ({ name }: ts.Symbol) => name === '__constructor';
    return [...shown.filter(isConstructor), ...shown.filter((member) => !isConstructor(member))];
  }

  #classSection(symbol: ts.Symbol, level: number, title: string): string[] {
    const heading = '#'.repeat(level);
    const parts = new Set(this.#partsOf(symbol).map(([, type]) => type));
    const instance = title === 'new Gen3d' ? 'gen3d' : title;
    return [
      `${heading} ${title === 'new Gen3d' ? 'Gen3d' : title}`,
      this.#docOf(symbol),
      ...this.#examplesOf(symbol),
      ...this.#membersOf(symbol).flatMap((member) => {
        const declaration = member.declarations?.[0];
        if (!declaration) return [];
        if (ts.isConstructorDeclaration(declaration)) {
          if (title !== 'new Gen3d') return [];
          return this.#callSection(member, declaration, `${heading}# new Gen3d()`, 'new Gen3d');
        }
        if (ts.isMethodDeclaration(declaration)) {
          const name = nameOf(member, declaration);
          return this.#callSection(member, declaration, `${heading}# ${instance}${call(name)}`, name);
        }
        const type = this.#checker.getTypeOfSymbol(member);
        if (type.symbol && parts.has(type.symbol)) return [];
        // The functions of an object are documented like methods.
        const isLiteral = type.symbol && type.symbol.flags & ts.SymbolFlags.TypeLiteral;
        const inner = (isLiteral ? type.getProperties() : []).flatMap((property) => {
          const method = property.declarations?.[0];
          return method && ts.isMethodSignature(method)
            ? this.#callSection(
                property,
                method,
                `${heading}# ${instance}.${member.name}.${property.name}()`,
                property.name,
              )
            : [];
        });
        if (inner.length > 0) return inner;
        return [
          `${heading}# ${instance}.${member.name}`,
          `${code(this.#typeOf(member))} ${this.#docOf(member)}`.trim(),
        ];
      }),
    ];
  }

  #functionSection(symbol: ts.Symbol): string[] {
    const declaration = symbol.valueDeclaration;
    if (!declaration || !ts.isFunctionDeclaration(declaration)) return [];
    return this.#callSection(symbol, declaration, `### ${symbol.name}()`, symbol.name);
  }

  #callSection(symbol: ts.Symbol, declaration: ts.SignatureDeclaration, heading: string, name: string): string[] {
    const parameters = declaration.parameters.map((parameter, index) => {
      const destructured = ts.isObjectBindingPattern(parameter.name);
      const optional = parameter.initializer || parameter.questionToken ? '?' : '';
      const type = parameter.type?.getText() ?? this.#checker.typeToString(this.#checker.getTypeAtLocation(parameter));
      return `${destructured ? (index < declaration.parameters.length - 1 ? 'params' : 'options') : parameter.name.getText()}${optional}: ${type}`;
    });
    const result = ts.isConstructorDeclaration(declaration) ? '' : `: ${this.#resultOf(declaration)}`;
    const signature = this.#checker.getSignatureFromDeclaration(declaration);
    const tags = signature?.getJsDocTags() ?? [];
    const described = tags.filter((tag) => tag.name === 'param').map((tag) => `- ${parameterText(tag)}`);
    const thrown = tags.filter((tag) => tag.name === 'throws').flatMap((tag) => throwsOf(textOf(tag)));
    return [
      heading,
      `\`\`\`ts\n${name}(${parameters.join(', ')})${result}\n\`\`\``,
      ts.displayPartsToString(signature?.getDocumentationComment(this.#checker)),
      described.join('\n'),
      thrown.length > 0 ? thrown.map((text) => `- throws ${text}`).join('\n') : '',
      ...this.#examplesOf(symbol),
    ];
  }

  #resultOf(declaration: ts.SignatureDeclaration): string {
    if (declaration.type) return declaration.type.getText();
    const signature = this.#checker.getSignatureFromDeclaration(declaration);
    return signature ? this.#checker.typeToString(signature.getReturnType(), undefined, flags) : 'unknown';
  }

  #errorTable(errors: readonly ts.Symbol[]): string {
    const inherited = new Set(['name', 'message', 'stack', 'cause', '__constructor']);
    const rows = errors.map((symbol) => {
      const own = this.#membersOf(symbol).filter(({ name }) => !inherited.has(name));
      const fields = own.map((member) => code(`${member.name}: ${this.#typeOf(member)}`)).join(', ');
      const base = this.#checker.getDeclaredTypeOfSymbol(symbol).getBaseTypes()?.[0]?.symbol.name ?? 'Error';
      // For a class without documentation, TypeScript returns its constructor's.
      const isDocumented = symbol.declarations?.some(
        (declaration) => ts.getJSDocCommentsAndTags(declaration).length > 0,
      );
      return [code(symbol.name), code(base), isDocumented ? this.#docOf(symbol) : '', fields];
    });
    return table(['Class', 'Is a', 'When', 'Own fields'], rows);
  }

  #interfaceSection(symbol: ts.Symbol): string[] {
    const properties = this.#checker.getDeclaredTypeOfSymbol(symbol).getProperties();
    return [
      `### ${symbol.name}`,
      this.#docOf(symbol),
      table(
        ['Field', 'Type', ''],
        properties.map((property) => [
          code(`${property.name}${property.flags & ts.SymbolFlags.Optional ? '?' : ''}`),
          code(this.#typeOf(property)),
          this.#docOf(property),
        ]),
      ),
    ];
  }

  #typeSection(symbol: ts.Symbol): string[] {
    const type = this.#checker.getDeclaredTypeOfSymbol(symbol);
    return [
      `### ${symbol.name}`,
      this.#docOf(symbol),
      `\`\`\`ts\ntype ${symbol.name} = ${this.#spelledOut(symbol, type)};\n\`\`\``,
    ];
  }

  /** The type as written, or the result of zod's inference. */
  #spelledOut(symbol: ts.Symbol, type: ts.Type): string {
    const declaration = symbol.declarations?.find(ts.isTypeAliasDeclaration);
    const written = declaration?.type.getText() ?? '';
    if (!/\b(z\.|infer)/.test(written)) return withoutComments(written);
    if (type.isUnion() && !type.types.some((one) => one.getProperties().length > 0 && !one.isLiteral())) {
      return this.#checker.typeToString(type, undefined, flags);
    }
    const parts = type.isUnion() ? type.types : [type];
    return parts.map((part) => this.#object(part)).join(' | ');
  }

  #object(type: ts.Type): string {
    const lines = type.getProperties().map((property) => {
      const optional = property.flags & ts.SymbolFlags.Optional ? '?' : '';
      return `  ${property.name}${optional}: ${this.#typeOf(property)};`;
    });
    return `{\n${lines.join('\n')}\n}`;
  }

  #typeOf(symbol: ts.Symbol): string {
    const declaration = symbol.valueDeclaration;
    const written =
      declaration &&
      (ts.isPropertySignature(declaration) ||
        ts.isPropertyDeclaration(declaration) ||
        ts.isParameter(declaration) ||
        ts.isVariableDeclaration(declaration)) &&
      declaration.type?.getText();
    if (written && !/\bZod|\bz\./.test(written)) return written.replace(/ \| undefined$/, '');
    const text = this.#checker.typeToString(this.#checker.getTypeOfSymbol(symbol), undefined, flags);
    return symbol.flags & ts.SymbolFlags.Optional ? text.replace(/ \| undefined$/, '') : text;
  }

  #valueOf(symbol: ts.Symbol): string {
    const value = (values as Record<string, unknown>)[symbol.name];
    return typeof value === 'function' ? this.#typeOf(symbol) : JSON.stringify(value, null, 1).replace(/\s+/g, ' ');
  }

  #docOf(symbol: ts.Symbol): string {
    return ts.displayPartsToString(symbol.getDocumentationComment(this.#checker));
  }

  #examplesOf(symbol: ts.Symbol): string[] {
    const examples = symbol.getJsDocTags(this.#checker).filter((tag) => tag.name === 'example');
    return examples.map((tag) => `\`\`\`ts\n${textOf(tag)}\n\`\`\``);
  }
}

const flags = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseSingleQuotesForStringLiteralType;
const isHidden = ({ name, declarations }: ts.Symbol) => {
  const declaration = declarations?.[0] && ts.getNameOfDeclaration(declarations[0]);
  return name === 'prototype' || (declaration !== undefined && ts.isPrivateIdentifier(declaration));
};

function nameOf(member: ts.Symbol, declaration: ts.MethodDeclaration): string {
  return declaration.name.getText() === '[Symbol.asyncIterator]' ? '[Symbol.asyncIterator]' : member.name;
}

const baseFirst = (a: ts.Symbol, b: ts.Symbol) => Number(b.name === 'Gen3dError') - Number(a.name === 'Gen3dError');

const call = (name: string) => (name.startsWith('[') ? `${name}()` : `.${name}()`);

const textOf = (tag: ts.JSDocTagInfo) => ts.displayPartsToString(tag.text).trim();

/** `source the task` as "`source`: the task". */
const parameterText = (tag: ts.JSDocTagInfo) => textOf(tag).replace(/^(\S+)\s*-?\s*/, '`$1`: ');

/** Splits a comment with several: `{A} if this; @throws {B} if that`. */
const throwsOf = (text: string) =>
  text.split(/;?\s*@throws\s*/).map((one) =>
    one
      .replace(/\s+/g, ' ')
      .replace(/^\{(\w+)\}\s*/, '`$1` ')
      .trim()
      .replace(/;$/, ''),
  );

const withoutComments = (text: string) => text.replace(/^\s*\/\/.*\n/gm, '').replace(/^\s*\|/, '\n  |');
