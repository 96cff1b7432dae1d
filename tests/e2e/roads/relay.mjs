// The process of a stdio server: what it plays is played in the process of the suite, behind the socket in ROADS_HUB.
import { connect } from 'node:net';

const hub = connect(process.env.ROADS_HUB);
hub.write(`${JSON.stringify({ server: process.argv[2], pid: process.pid, form: process.env.ROADS_FORM })}\n`);
process.stdin.pipe(hub);
hub.pipe(process.stdout);
let code = 3; // the suite lets the server die
process.stdin.on('end', () => (code = 0));
hub.on('error', () => process.exit(3));
// After the end of stdin this comes when the suite has read what was relayed. Gone before that, its next write here would
// fail, and with that it would lose what it has not read.
hub.on('end', () => process.exit(code));
