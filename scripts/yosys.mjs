// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs a yosys script with the yosys of the npm package @yowasp/yosys (Debian's is too old for some
// of our RTL). That one lives in a file system of its own, so the folder of the script is copied in,
// and what the script wrote is copied out; the script names files without a folder.
// usage: node yosys.mjs PACKAGE_FOLDER SCRIPT
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [, , packageFolder, script] = process.argv;
const bundle = path.resolve(packageFolder, 'gen', 'bundle.js');
const {runYosys, Exit} = await import(pathToFileURL(bundle).href);

const folder = path.dirname(path.resolve(script));
const before = {};
for (const name of fs.readdirSync(folder)) {
  const file = path.join(folder, name);
  if (fs.statSync(file).isFile()) before[name] = fs.readFileSync(file);
}
const print = bytes => { if (bytes !== null) fs.writeSync(1, bytes); };
let after, status = 0;
try {
  after = await runYosys(['-Q', path.basename(script)], before,
                         {stdout: print, stderr: print, decodeASCII: false});
} catch (e) {
  if (!(e instanceof Exit)) throw e;
  status = e.code;
  after = e.files;
}
for (const [name, content] of Object.entries(after ?? {})) {
  if (!(name in before) && (content instanceof Uint8Array || typeof content === 'string')) {
    fs.writeFileSync(path.join(folder, name), content);
  }
}
process.exit(status);
