/** The purpose of a page. A page replaces an earlier page of the same kind without a prompt. */
export type PageKind = 'preview' | 'report' | 'art'

const GENERATOR = /^<meta name="generator" content="gdn \S+ \((\w+)\)">$/m

/** Returns whether a file begins as a page of a kind that gdn wrote. */
export const isPageOfKind = (start: string, kind: PageKind): boolean =>
  start.startsWith('<!doctype html>') && GENERATOR.exec(start)?.[1] === kind
