# server.pl stdio | http PORT: the fixture of this suite on Perl's MCP. It speaks both eras, and has no templates.
use Mojo::Base -strict, -signatures;
use utf8;
use MCP::Server;

my ($road, $port) = @ARGV;
my $server = MCP::Server->new(name => 'fixture-perl');
sub schema (%properties) { return {type => 'object', properties => \%properties, required => [sort keys %properties]} }

$server->tool(
  name         => 'echo',
  description  => 'x',
  input_schema => schema(text => {type => 'string'}),
  code         => sub ($tool, $args) { return "echo: $args->{text}" }
);
$server->tool(name => 'fail', description => 'x', code => sub ($tool, $args) { return $tool->text_result('broken on purpose', 1) });
$server->tool(
  name         => 'steps',
  description  => 'x',
  input_schema => schema(count => {type => 'integer'}),
  code         => sub ($tool, $args) {
    $tool->context->notify_progress($_, $args->{count}) for 1 .. $args->{count};
    return "$args->{count} steps";
  }
);
$server->tool(
  name        => 'tell',
  description => 'x',
  code        => sub ($tool, $args) { $tool->context->notify_log(info => 'a line of the log'); return 'told' }
);
$server->tool(
  name        => 'ask',
  description => 'x',
  code        => sub ($tool, $args) {
    my $answers = $tool->context->input_responses;
    return "colour: $answers->{colour}{content}{colour}" if $answers && $answers->{colour};
    return {
      resultType    => 'input_required',
      requestState  => $tool->context->seal_state('asked'),
      inputRequests => {
        colour => {
          method => 'elicitation/create',
          params => {message => 'Which colour?', requestedSchema => schema(colour => {type => 'string'})}
        }
      }
    };
  }
);
$server->resource(uri => 'memo://one', name => 'memo-one', description => 'x', code => sub ($resource) { return 'memo one' });
$server->prompt(
  name        => 'greet',
  description => 'x',
  arguments   => [{name => 'name', required => 0}],
  code        => sub ($prompt, $args) { my $name = $args->{name} // 'you'; return "Greet $name." }
);

if ($road eq 'http') {
  require Mojolicious::Lite;
  require Mojo::Server::Daemon;
  my $app = Mojolicious->new;
  $app->log->level('fatal');
  $app->routes->any('/mcp' => $server->to_action);
  Mojo::Server::Daemon->new(app => $app, listen => ["http://127.0.0.1:$port"], silent => 1)->run;
}
else { $server->to_stdio }
